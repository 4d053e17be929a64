import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import type { CollectionName } from '../../../src/model/collections.ts';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

const MINUTE = 60_000;
const { signal } = new AbortController();
/** How far (ms) the test's clock is ahead of the machine's. */
let ahead = 0;

/** An account with some lists, and a clock that the test moves on. */
async function create(lists = 12): Promise<void> {
  ahead = 0;
  const clock = { ...systemClock, now: () => Date.now() + ahead };
  account = await createTestAccount({ lists }, clock);
  await account.read('lists', 'full');
  await account.read('list_items', 'poll');
}

/** The daemon's run of `list_items`. @returns how many lists it asked for */
async function run(): Promise<number> {
  const asked = account.asked.length;
  const poll = { what: 'poll', scheduled: true, signal } as const;
  expect((await account.current.reader.read('list_items', poll)).error).toBeUndefined();
  return listsIn(account.asked.slice(asked));
}

const listsIn = (paths: readonly string[]): number =>
  new Set(paths.flatMap((path) => /^\/v1\/lists\/[^?]+/.exec(path) ?? [])).size;

async function nextRuns(name: CollectionName = 'list_items') {
  const [row] = await account.query<{ poll: Date; full: Date | null }>(
    `select next_poll_at as poll, next_full_at as full from mirror._collections where collection = '${name}'`,
  );
  if (row === undefined) throw new Error(`${name} has no row`);
  return row;
}

/** When (ms) the collection's cron line polls it next, by the test's clock. */
function nextOfLine(name: CollectionName): number {
  const now = new Date(Date.now() + ahead);
  const { nextPollAt } = account.parts.schedule.of(String(account.sandbox.userId))(name, now);
  return nextPollAt?.getTime() ?? Number.NaN;
}

describe('the runs of lists', () => {
  it('follow each other if one lasts half a second longer than its line’s interval', async () => {
    await create();
    const until = nextOfLine('list_items');
    await account.query(`update mirror._collections set next_poll_at = now() - interval '1 second'`);
    // One list is read; meanwhile the line's next moment passes.
    account.onRequest = (path) => {
      if (path.startsWith('/v1/lists/')) ahead = until + 500 - Date.now();
    };
    expect(await run()).toBeLessThan(12);
    account.onRequest = () => {};
    expect((await nextRuns()).poll.getTime()).toBe(until);
    ahead = until + 1_000 - Date.now();
    expect(await run()).toBe(12);
    expect((await nextRuns()).poll.getTime()).toBe(until + MINUTE);
  });

  it('are not served by a reading of lists that a change made due', async () => {
    await create();
    await run();
    const before = await nextRuns();
    ahead += 2 * MINUTE;
    await account.query(`
      update mirror_sync.scope set due_at = now() - interval '1 minute' where collection = 'list_items'
        and parent = (select min(parent) from mirror_sync.scope where collection = 'list_items')`);
    const asked = account.asked.length;
    await account.current.reader.readDue('list_items', signal);
    expect(listsIn(account.asked.slice(asked))).toBe(1);
    expect(await nextRuns()).toEqual(before);
    // Nothing is due any more: nothing is written.
    const row = `select xmin, * from mirror._collections where collection = 'list_items'`;
    const stored = await account.query(row);
    await account.current.reader.readDue('list_items', signal);
    expect(await account.query(row)).toEqual(stored);
  });

  it.each(['account', 'research_jobs', 'lists', 'list_items'] as const)(
    'leave a full walk of %s that is due until one has ended',
    async (name) => {
      await create(3);
      const due = new Date('2026-01-01T00:00:00Z');
      await account.read(name, 'full');
      await account.query(
        `update mirror._collections set next_full_at = '${due.toISOString()}' where collection = '${name}'`,
      );
      await account.read(name, 'poll');
      // The account is one object: to read it is to read all of it.
      if (name !== 'account') expect((await nextRuns(name)).full).toEqual(due);
      await account.read(name, 'full');
      expect((await nextRuns(name)).full).not.toEqual(due);
    },
  );
});

describe('a poll before its line’s run', () => {
  /** Polls as scheduled. Rows of polls in the log then, and how long (ms) after the last poll the next one is due. */
  async function polled(): Promise<{ rows: number; nextAfterMs: number }> {
    const poll = { what: 'poll', scheduled: true, signal } as const;
    expect((await account.current.reader.read('research_jobs', poll)).error).toBeUndefined();
    const [row] = await account.query<{ rows: number; nextAfterMs: number }>(`
      select (select count(*)::int from mirror.sync_log where collection = 'research_jobs' and kind = 'poll') as rows,
        extract(epoch from next_poll_at - polled_at)::float8 * 1000 as "nextAfterMs"
      from mirror._collections where collection = 'research_jobs'`);
    return row ?? { rows: Number.NaN, nextAfterMs: Number.NaN };
  }

  it('follows one that found a change, is logged if it finds something, and always moves freshness', async () => {
    await create(3);
    await account.read('research_jobs', 'full');
    const [job] = await account.query<{ id: string }>('select max(job_id) as id from mirror.research_jobs');
    const row = { op: 'update', collection: 'research_jobs', id: job?.id ?? '' } as const;
    const change = (note: string) => account.sandbox.control.mutate({ ...row, fields: { note } });
    // Just after a run of the line.
    ahead = MINUTE;
    ahead = nextOfLine('research_jobs') - Date.now();
    const quiet = await polled();
    expect(quiet.rows).toBe(1);
    expect(quiet.nextAfterMs).toBeGreaterThan(50_000);
    ahead += MINUTE;
    await change('once');
    const first = await polled();
    expect(first.rows).toBe(2);
    expect(first.nextAfterMs).toBeLessThan(20_000);
    await account.query(`update mirror._collections set polled_at = 'epoch' where collection = 'research_jobs'`);
    const second = await polled();
    expect(second.rows).toBe(2);
    expect(second.nextAfterMs).toBeLessThan(20_000);
    await change('twice');
    expect((await polled()).rows).toBe(3);
  });
});
