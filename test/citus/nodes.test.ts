import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { createBudgetStore } from '../../src/service/budget-store.ts';
import type { Database } from '../../src/postgres/pool.ts';
import { distributeTo } from '../support/databases/distributed-database.ts';
import { openTestDatabase } from '../support/databases/migrated-database.ts';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';
import type { TestDatabase } from '../support/postgres/postgres.ts';
import { createPlainMirror, setClockAhead, workerServer } from './worker-nodes.ts';

let plain: TestDatabase;
let open: Database;
let writing: ReturnType<typeof write> | undefined;

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

/** The shard of account 7's research jobs, where it lies, and the URL of that worker and of the other one. */
async function shard() {
  const [found] = await run<{ id: string; host: string; port: number }>(`
    select s.shardid::text as id, s.nodename as host, s.nodeport as port from citus_shards s
    where s.shardid = get_shard_id_for_distribution_column('mirror.research_jobs', 7::bigint)`);
  const workers = inject('testServer').workers.map((url) => new URL(url));
  const worker = workers.find(({ port }) => port === String(found?.port));
  const other = workers.find((each) => each !== worker);
  if (found === undefined || worker === undefined || other === undefined) throw new Error('account 7 has no shard');
  return { ...found, worker, other };
}

const PER_PAGE = 10;

function page(nth: number, status: string): string {
  return JSON.stringify(
    Array.from({ length: PER_PAGE }, (_, index) => ({ job_id: 1 + nth * PER_PAGE + index, status })),
  );
}

/** Writes pages of new jobs, and each of them again with another status, until told to stop, and each until it is written. */
function write(account: MirroredAccount) {
  const waiting: { readonly at: number; readonly tell: () => void }[] = [];
  const over = new AbortController();
  const seen = { pages: 0, failures: 0 };
  const untilWritten = async (items: string): Promise<void> => {
    for (;;) {
      try {
        await account.page('research_jobs', items);
        return;
      } catch (error) {
        if (over.signal.aborted) throw error;
        seen.failures += 1;
        await new Promise(setImmediate);
      }
    }
  };
  const done = (async () => {
    while (!over.signal.aborted) {
      for (const status of ['queued', 'done']) await untilWritten(page(seen.pages, status));
      seen.pages += 1;
      for (const { at, tell } of waiting) if (at <= seen.pages) tell();
    }
    return seen.pages;
  })();
  return {
    seen,
    /** Resolves once so many more pages are written. */
    more: (count: number) => new Promise<void>((tell) => waiting.push({ at: seen.pages + count, tell })),
    /** Resolves once a page has failed. */
    async failing(): Promise<void> {
      while (seen.failures === 0) await new Promise(setImmediate);
    },
    /** @returns how many pages were written, each twice */
    stop(): Promise<number> {
      over.abort();
      return done;
    },
  };
}

/** Every job once, as written last; one superseded version of each; and counters that agree with them. */
async function expectEqual(pages: number): Promise<void> {
  const jobs = pages * PER_PAGE;
  expect(
    await run(`
      select count(*)::int as jobs, count(distinct job_id)::int as ids, max(job_id)::int as last,
        count(*) filter (where _raw ->> 'status' = 'done')::int as done,
        (select live_rows::int from mirror._collections where _user_id = 7 and collection = 'research_jobs') as counted
      from mirror.research_jobs where _user_id = 7`),
  ).toEqual([{ jobs, ids: jobs, last: jobs, done: jobs, counted: jobs }]);
  expect(
    await run(`
      select count(*)::int as versions, count(distinct job_id)::int as ids
      from mirror.research_jobs_history where _user_id = 7 and _raw ->> 'status' = 'queued'`),
  ).toEqual([{ versions: jobs, ids: jobs }]);
}

describe('a mirror whose nodes fail and move', () => {
  it('is equal to what was written after its worker was killed and came back', async () => {
    writing = write(await MirroredAccount.make({ ...open, ...plain }, '7'));
    await writing.more(3);
    const worker = await workerServer((await shard()).worker.href);
    await worker.kill();
    try {
      await writing.failing();
    } finally {
      await worker.start();
    }
    await writing.more(3);
    const pages = await writing.stop();
    expect(writing.seen.failures).toBeGreaterThan(0);
    await expectEqual(pages);
  });

  it('is equal to what was written while its shards were moved, and balanced again', async () => {
    writing = write(await MirroredAccount.make({ ...open, ...plain }, '7'));
    await writing.more(3);
    const { id, host, port, other: to } = await shard();
    await run(`select citus_move_shard_placement(${id}, '${host}', ${port}, '${to.hostname}', ${to.port})`);
    expect((await shard()).port).toBe(Number(to.port));
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
    const { pathname } = new URL(plain.url);
    await setClockAhead(Object.assign((await shard()).worker, { pathname }).href);
    const again = await openTestDatabase(plain.url);
    try {
      const store = createBudgetStore(again.db, account.fence);
      const block = { group: 'other', blockId: 1, size: 5, validForMs: 10_000 } as const;
      const { now } = await store.reserve('key', block, { keyHash: 'key', blocks: [], learnt: [] });
      const [here] = await run<{ ms: number }>('select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms');
      const loaded = await store.load('key');
      expect(now - (here?.ms ?? 0)).toBeGreaterThan(4_000);
      expect(loaded.now).toBeGreaterThanOrEqual(now);
    } finally {
      await again.close();
    }
  });
});
