import pg from 'pg';
import type { OperationName } from '../../../src/model/submission.ts';
import type { Draw } from '../support/draw.ts';
import type { Told } from './judge.ts';

/** Part of the submissions that are repeated at once under the same idempotency key. */
const REPEATED = 0.15;
const ROLLED_BACK = 0.05;

/**
 * A user who queues operations by SQL, whatever happens to the daemon, and remembers what he was told. Each payload
 * has a marker of its own.
 */
export class Queue implements Told {
  readonly queued = new Map<string, string>();
  readonly cancelled = new Set<string>();
  readonly rolledBack = new Set<string>();
  /** What `submit` itself got wrong. */
  readonly problems: string[] = [];
  readonly #db: pg.Pool;
  readonly #draw: Draw;
  readonly #targets: Readonly<Record<'lists' | 'jobs', readonly string[]>>;
  #markers = 0;

  /** @param targets rows that operations with a target may name */
  constructor(db: pg.Pool, draw: Draw, targets: Readonly<Record<'lists' | 'jobs', readonly string[]>>) {
    this.#db = db;
    this.#draw = draw;
    this.#targets = targets;
  }

  /** Queues an operation; now and then twice under one key, or in a transaction that is rolled back. */
  async submit(operation: OperationName): Promise<void> {
    const marker = `m${(this.#markers += 1)}`;
    const payload = JSON.stringify({ marker, company_url: `https://${marker}.example` });
    const parameters = [operation, payload, this.#target(operation), `key-${marker}`];
    const statement = 'select mirror.submit($1, $2, $3, idempotency_key => $4) as id';
    const idOf = async (db: Pick<pg.ClientBase, 'query'>): Promise<string> =>
      (await db.query<{ id: string }>(statement, parameters)).rows[0]?.id ?? '';
    if (this.#draw.chance(ROLLED_BACK)) {
      this.rolledBack.add(marker);
      const client = await this.#db.connect();
      try {
        await client.query('begin');
        await idOf(client);
        await client.query('rollback');
      } finally {
        client.release();
      }
      return;
    }
    const id = await idOf(this.#db);
    this.queued.set(id, marker);
    if (!this.#draw.chance(REPEATED)) return;
    const again = await idOf(this.#db);
    if (again !== id)
      this.problems.push(`submission ${id} is ${again} when it is queued under its key again`);
  }

  /** Cancels one that was queued lately, if it can be cancelled still. */
  async cancel(): Promise<void> {
    const id = this.#draw.one([...this.queued.keys()].slice(-5));
    if (id === undefined) return;
    try {
      await this.#db.query('select mirror.cancel_submission($1)', [id]);
      this.cancelled.add(id);
    } catch (error) {
      // It was sent.
      if (!(error instanceof pg.DatabaseError) || error.code !== 'RM017') throw error;
    }
  }

  #target(operation: OperationName): string | null {
    if (operation === 'list_analyze') return this.#draw.one(this.#targets.lists) ?? null;
    if (operation === 'sequence') return this.#draw.one(this.#targets.jobs) ?? null;
    return null;
  }
}
