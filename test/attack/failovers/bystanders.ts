import type pg from 'pg';
import type { OperationRecord } from '@research-mirror/sandbox/request-log';
import { systemClock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { Running } from '../../support/processes/program.ts';
import type { RealAccount } from '../real/real-account.ts';
import { judge as judgeSubmissions, submissionRows, type SubmissionRow } from '../submissions/judge.ts';
import type { Finding } from '../support/attack.ts';
import { KEYS, type ListName } from '../walks/checks/mirrored.ts';
import { WatermarkReader } from '../walks/checks/watermark.ts';

const USER = '1001';
const NAMES = Object.keys(KEYS) as ListName[];
const EACH_MS = 250;

/** Other users of the database: a consumer that follows `_change_id`, and one who queues operations. */
export class Bystanders {
  readonly consumer: WatermarkReader;
  /** Marker of each submission that was queued and committed, by its ID; IDs come again where the database goes back. */
  readonly queued: { readonly id: string; readonly marker: string }[] = [];
  readonly #db: pg.Pool;
  readonly #account: RealAccount;
  readonly #over = new AbortController();
  #markers = 0;

  constructor(db: pg.Pool, account: RealAccount) {
    this.#db = db;
    this.#account = account;
    this.consumer = new WatermarkReader(db, USER, NAMES, true);
  }

  /** They, and what happens in the source, go on while `work` lasts. */
  async during(work: () => Promise<void>): Promise<void> {
    this.#account.act(true);
    const going = this.#go();
    try {
      await work();
    } finally {
      this.#over.abort();
      await going;
      this.#account.act(false);
    }
  }

  /** What was being sent is given up after the longest that a request may take; what is queued waits for its slots. */
  async finishSent(daemon: Running, patienceMs: number): Promise<void> {
    const sending = `select submission_id, sent_at, _send_before, clock_timestamp() as now
      from mirror.submissions where state in ('queued', 'sending')`;
    try {
      const isDone = async (): Promise<boolean> => (await this.#db.query(sending)).rowCount === 0;
      await eventually('the end of what was queued and being sent', isDone, patienceMs);
    } catch (error) {
      const { rows } = await this.#db.query<Record<string, unknown>>(sending);
      this.#account.claim(false, `${messageOf(error)}: ${JSON.stringify(rows)}`);
      this.#account.tell(daemon.output());
    }
  }

  /** Judges what was sent. @param kept the database lost nothing that was committed durably */
  async judge(kept: boolean): Promise<SubmissionRow[]> {
    const rows = await submissionRows(this.#db);
    for (const { state } of rows) this.#account.count(`submissions ${state}`);
    const operations = await this.#account.source.control.operations();
    this.#account.found(judgeSent({ rows, operations, queued: this.queued }, kept));
    return rows;
  }

  /** What the consumer holds at the end. */
  async checkConsumer(): Promise<void> {
    this.#account.found(await this.consumer.check());
    this.#account.count('comparisons by a consumer', this.consumer.compared);
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
    const { draw } = this.#account;
    while (!this.#over.signal.aborted) {
      // While the server is away, and before there are jobs, they can't.
      if (draw.chance(0.5)) await this.consumer.follow().catch(() => {});
      if (draw.chance(0.3)) await this.submit('sequence').catch(() => {});
      await systemClock.sleep(draw.random() * EACH_MS);
    }
  }
}

interface Sent {
  readonly rows: readonly SubmissionRow[];
  readonly operations: readonly OperationRecord[];
  /** Markers of what was queued, by ID. */
  readonly queued: readonly { readonly id: string; readonly marker: string }[];
}

/**
 * Nothing is sent twice, whatever the database forgot. What it forgot has no row; where it keeps what is committed
 * durably, every row is there, and true. What is held waits for a person who knows whether it was sent.
 * @param kept the database lost nothing that was committed durably
 */
function judgeSent({ rows, operations, queued }: Sent, kept: boolean): Finding[] {
  const effects = operations.map(({ idempotencyKey, payload }) => ({
    idempotencyKey,
    marker: (JSON.parse(payload ?? '{}') as { marker?: string }).marker ?? '',
  }));
  const held = new Set(rows.filter(({ state }) => state === 'held').map(({ marker }) => marker));
  const known = new Set(rows.map(({ marker }) => marker));
  const isJudged = ({ marker }: { readonly marker: string }): boolean =>
    !held.has(marker) && (kept || known.has(marker));
  const judged = judgeSubmissions(rows.filter(isJudged), effects.filter(isJudged), {
    queued: new Map(queued.filter(isJudged).map(({ id, marker }) => [id, marker])),
    cancelled: new Set(),
    rolledBack: new Set(),
  });
  const twice = [...Map.groupBy(effects, ({ idempotencyKey }) => idempotencyKey)]
    .filter(([, sent]) => sent.length > 1)
    .map(([key, sent]): Finding => ({
      kind: 'twice',
      text: `${sent[0]?.marker ?? ''} took effect ${sent.length} times under the key ${key ?? ''}`,
    }));
  return [...twice, ...judged.filter(({ kind }) => kind !== 'twice')];
}
