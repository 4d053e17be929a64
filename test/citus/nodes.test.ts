import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { createBudgetStore } from '../../src/service/budget-store.ts';
import type { Database } from '../../src/postgres/pool.ts';
import { distributeTo } from '../support/databases/distributed-database.ts';
import { openTestDatabase } from '../support/databases/migrated-database.ts';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';
import type { TestDatabase } from '../support/postgres/postgres.ts';
import { createPlainMirror } from './plain-mirror.ts';
import { setClockAhead, workerServer } from './worker-nodes.ts';

let plain: TestDatabase;
let open: Database;
let writing: Writing | undefined;

beforeEach(async () => {
  plain = await createPlainMirror();
  await distributeTo(plain.url, 'mirror', inject('testServer').workers);
  open = await openTestDatabase(plain.url);
});
afterEach(async () => {
  // A test that failed has it still writing.
  await writing?.stop().catch(() => {});
  writing = undefined;
  await open.close();
  await plain.drop();
});

const run = async <Row>(text: string): Promise<Row[]> => (await open.db.sql<Row>`${sql.raw(text)}`).rows;

/** A node, as Citus's functions take it. */
interface Place {
  readonly host: string;
  readonly port: number;
}

/** The shard of an account's research jobs, and where it lies. */
async function shardOf(userId: string): Promise<Place & { readonly shard: string }> {
  const [found] = await run<Place & { shard: string }>(`
    select s.shardid::text as shard, s.nodename as host, s.nodeport as port from citus_shards s
    where s.shardid = get_shard_id_for_distribution_column('mirror.research_jobs', ${userId}::bigint)`);
  if (found === undefined) throw new Error(`account ${userId} has no shard`);
  return found;
}

/** The worker's URL; its mirror's where `own`. */
function workerAt({ port }: Place, own = false): URL {
  const found = inject('testServer').workers.find((url) => new URL(url).port === String(port));
  if (found === undefined) throw new Error(`no worker listens on ${port}`);
  const url = new URL(found);
  if (own) url.pathname = new URL(plain.url).pathname;
  return url;
}

const PER_PAGE = 10;

function page(nth: number, status: string): string {
  return JSON.stringify(
    Array.from({ length: PER_PAGE }, (_, index) => ({ job_id: 1 + nth * PER_PAGE + index, status })),
  );
}

/** Pages of new jobs, and each of them again with another status, until told to stop. Each is tried until it is written. */
class Writing {
  readonly done: Promise<number>;
  readonly #account: MirroredAccount;
  readonly #waiting: { readonly from: number; readonly tell: () => void }[] = [];
  #over = false;
  #pages = 0;
  failures = 0;

  constructor(account: MirroredAccount) {
    this.#account = account;
    this.done = this.#work();
  }

  /** Resolves once so many more pages are written. */
  more(pages: number): Promise<void> {
    return new Promise((tell) => this.#waiting.push({ from: this.#pages + pages, tell }));
  }

  /** Resolves once a page has failed. */
  async failing(): Promise<void> {
    while (this.failures === 0) await new Promise(setImmediate);
  }

  /** @returns how many pages were written, each twice */
  stop(): Promise<number> {
    this.#over = true;
    return this.done;
  }

  async #work(): Promise<number> {
    while (!this.#over) {
      for (const status of ['queued', 'done']) await this.#write(page(this.#pages, status));
      this.#pages += 1;
      for (const each of this.#waiting) if (each.from <= this.#pages) each.tell();
    }
    return this.#pages;
  }

  async #write(items: string): Promise<void> {
    for (;;) {
      try {
        await this.#account.page('research_jobs', items);
        return;
      } catch (error) {
        if (this.#over) throw error;
        this.failures += 1;
        await new Promise(setImmediate);
      }
    }
  }
}

/** Every job once, as written last; one superseded version of each; and counters that agree with them. */
async function expectEqual(pages: number): Promise<void> {
  const jobs = pages * PER_PAGE;
  expect(
    await run(`
      select count(*)::int as jobs, count(distinct job_id)::int as ids, max(job_id)::int as last,
        count(*) filter (where _raw ->> 'status' = 'done')::int as done
      from mirror.research_jobs where _user_id = 7`),
  ).toEqual([{ jobs, ids: jobs, last: jobs, done: jobs }]);
  expect(
    await run(`
      select count(*)::int as versions, count(distinct job_id)::int as ids
      from mirror.research_jobs_history where _user_id = 7 and _raw ->> 'status' = 'queued'`),
  ).toEqual([{ versions: jobs, ids: jobs }]);
  expect(
    await run(
      `select live_rows::int as n from mirror._collections where _user_id = 7 and collection = 'research_jobs'`,
    ),
  ).toEqual([{ n: jobs }]);
}

describe('a mirror whose nodes fail and move', () => {
  it('is equal to what was written after its worker was killed and came back', async () => {
    writing = new Writing(await MirroredAccount.make({ ...open, ...plain }, '7'));
    await writing.more(3);
    const worker = await workerServer(workerAt(await shardOf('7')).href);
    await worker.kill();
    try {
      await writing.failing();
    } finally {
      await worker.start();
    }
    await writing.more(3);
    const pages = await writing.stop();
    expect(writing.failures).toBeGreaterThan(0);
    await expectEqual(pages);
  });

  it('is equal to what was written while its shards were moved, and balanced again', async () => {
    writing = new Writing(await MirroredAccount.make({ ...open, ...plain }, '7'));
    await writing.more(3);
    const from = await shardOf('7');
    const to = inject('testServer')
      .workers.map((url) => new URL(url))
      .find(({ port }) => port !== String(from.port));
    await run(
      `select citus_move_shard_placement(${from.shard}, '${from.host}', ${from.port}, '${to?.hostname}', ${to?.port})`,
    );
    expect((await shardOf('7')).port).toBe(Number(to?.port));
    await writing.more(3);
    // One of the two nodes has more of the four shards of each table now.
    await run('select citus_rebalance_start()');
    await run('select citus_rebalance_wait()');
    expect(await run('select nodeport, count(*)::int as n from citus_shards group by 1')).toHaveLength(2);
    await writing.more(3);
    await expectEqual(await writing.stop());
  });

  it('counts slots by the clock of the node by which they were written', async () => {
    const account = await MirroredAccount.make({ ...open, ...plain }, '7');
    await setClockAhead(workerAt(await shardOf('7'), true).href);
    const again = await openTestDatabase(plain.url);
    try {
      const store = createBudgetStore(again.db, account.fence);
      const block = { group: 'other', blockId: 1, size: 5, validForMs: 10_000 } as const;
      const { now } = await store.reserve('key', block, { keyHash: 'key', blocks: [], learnt: [] });
      const [here] = await run<{ ms: number }>(
        'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
      );
      const loaded = await store.load('key');
      expect(now - (here?.ms ?? 0)).toBeGreaterThan(4_000);
      expect(loaded.now).toBeGreaterThanOrEqual(now);
    } finally {
      await again.close();
    }
  });
});
