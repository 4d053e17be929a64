import type pg from 'pg';
import { systemClock } from '@research-mirror/runtime/clock';
import type { Draw } from '../support/draw.ts';
import { KEYS, type ListName } from '../walks/checks/mirrored.ts';
import { WatermarkReader } from '../walks/checks/watermark.ts';

const USER = '1001';
const NAMES = Object.keys(KEYS) as ListName[];
const EACH_MS = 250;

/** Who else uses the database: a consumer that follows `_change_id`, and somebody who queues operations. */
export class Bystanders {
  readonly consumer: WatermarkReader;
  /** Marker of each submission that was queued and committed, by its ID; IDs come again where the database goes back. */
  readonly queued: { readonly id: string; readonly marker: string }[] = [];
  readonly #db: pg.Pool;
  readonly #draw: Draw;
  readonly #over = new AbortController();
  #going: Promise<void> = Promise.resolve();
  #markers = 0;

  constructor(db: pg.Pool, draw: Draw) {
    this.#db = db;
    this.#draw = draw;
    this.consumer = new WatermarkReader(db, USER, NAMES, true);
  }

  start(): void {
    this.#going = this.#go();
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#going;
  }

  /** @returns its ID */
  async submit(operation: 'sequence' | 'clay_enrich'): Promise<string> {
    const marker = `m${(this.#markers += 1)}`;
    const payload = JSON.stringify({ marker, company_url: `https://${marker}.example` });
    const { rows } = await this.#db.query<{ id: string }>(
      `select mirror.submit($1, $2, case $1 when 'sequence' then
         (select min(job_id)::text from mirror.research_jobs_live) end) as id`,
      [operation, payload],
    );
    const id = rows[0]?.id ?? '';
    this.queued.push({ id, marker });
    return id;
  }

  async #go(): Promise<void> {
    while (!this.#over.signal.aborted) {
      // While the server is away, and before there are jobs, they can't.
      if (this.#draw.chance(0.5)) await this.consumer.follow().catch(() => {});
      if (this.#draw.chance(0.3)) await this.submit('sequence').catch(() => {});
      await systemClock.sleep(this.#draw.random() * EACH_MS);
    }
  }
}
