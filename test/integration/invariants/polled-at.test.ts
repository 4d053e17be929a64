import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { Stopped } from '@research-mirror/runtime/service';
import type { CollectionName } from '../../../src/model/collections.ts';
import { TransportError } from '../../../src/model/errors.ts';
import { lines } from '../../support/mirror/lines.ts';
import { createFrozenAccount, type TestAccount } from '../../support/sync/read-account.ts';
import { earlier } from '../../support/postgres/earlier.ts';

// `freshness.polled_at`: new rows, and changes of unfinished rows, are mirrored as of then. It may be too early, but
// never too late.

let account: TestAccount;
afterEach(() => account.close());

/** An account with these collections mirrored. */
const create = async (
  switches: Partial<SandboxOptions> = {},
  ...mirrored: readonly CollectionName[]
): Promise<void> => {
  account = await createFrozenAccount(switches);
  for (const name of mirrored) await account.read(name, 'full');
};

/** Leaves a poll without a refresh: a full walk that begins before the poll surely ends after it. */
const confirmAll = (): Promise<unknown> => account.query('delete from mirror_sync.unsettled');

/** `freshness` of a collection: `polled_at`, milliseconds (undefined: none), and its state. */
async function freshness(name: CollectionName) {
  const [row] = await account.query<{ polled_at: Date | null; state: string; last_error: string | null }>(`
    select polled_at, state, last_error from mirror.freshness where collection = '${name}'`);
  return { ...row, polledAt: row?.polled_at?.getTime() };
}
const polledAt = async (name: CollectionName = 'research_jobs') => (await freshness(name)).polledAt;

/** Reads; afterwards `polled_at` is not before the reading's beginning. */
async function movesIt(name: CollectionName, what: 'full' | 'poll'): Promise<void> {
  const begun = Date.now();
  expect((await account.read(name, what)).error).toBeUndefined();
  expect(await polledAt(name)).toBeGreaterThanOrEqual(begun);
}

/** From now on, requests chosen by `which` do not reach the service. */
function cutOff(which: (path: string) => boolean): void {
  account.onRequest = (path) => {
    if (which(path)) throw new TransportError('no route to the service');
  };
}
const restore = (): void => void (account.onRequest = () => {});

/** Reads jobs and stops after `requests` requests. */
async function interrupted(what: 'full' | 'poll', requests: number): Promise<void> {
  const stop = new AbortController();
  let left = requests;
  account.onRequest = () => {
    if (left === 0) stop.abort(new Stopped('the test'));
    left -= 1;
  };
  await account.read('research_jobs', what, stop.signal).catch(() => {});
  restore();
}

const jobsOf = (path: string): boolean => path.startsWith('/v1/research?');

/** A full walk with a poll that begins after `requests` requests. @returns the time of the poll */
async function polledWithinFull(requests: number): Promise<number> {
  let poll: Promise<unknown> | undefined;
  let begun = 0;
  const sent = account.asked.length + requests;
  const walks = account.walks.length;
  account.onRequest = () => {
    if (poll !== undefined || account.asked.length < sent) return;
    begun = Date.now();
    poll = account.read('research_jobs', 'poll');
  };
  await account.read('research_jobs', 'full');
  await poll;
  expect(account.walks.slice(walks).map(({ kind }) => kind)).toEqual(['poll', 'full']);
  return begun;
}

describe('polled_at of a collection', () => {
  it('is empty before the first load has ended, whatever polls brought meanwhile', async () => {
    await create();
    await interrupted('full', 3);
    await account.read('research_jobs', 'poll');
    expect(await polledAt()).toBeUndefined();
    await account.reopen();
    const needed = { error: undefined, fullNeeded: true };
    expect(await account.read('research_jobs', 'poll')).toMatchObject(needed);
    expect(account.walks.at(-1)).toMatchObject({ kind: 'poll', outcome: 'complete' });
    expect(await polledAt()).toBeUndefined();
    await account.read('research_jobs', 'full');
    expect(await polledAt()).toBeDefined();
  });

  it('is the beginning of the first load, even an interrupted one, until a poll follows it', async () => {
    await create();
    await interrupted('full', 3);
    const begun = Date.now();
    await account.reopen();
    cutOff(() => account.walks.some(({ kind, outcome }) => kind === 'full' && outcome === 'complete'));
    expect((await account.read('research_jobs', 'full')).error).toBeDefined();
    expect(await polledAt()).toBeLessThan(begun);
    restore();
    await movesIt('research_jobs', 'poll');
  });

  it('stays if the refresh after a successful poll fails', async () => {
    // Jobs that never finish, more than the poll's overlap.
    await create({ jobs: 600, stuckShare: 1 }, 'research_jobs');
    const before = await polledAt();
    const walks = account.walks.length;
    cutOff((path) => jobsOf(path) && account.walks.length > walks);
    expect((await account.read('research_jobs', 'poll')).error).toBeDefined();
    const ended = account.walks.slice(walks).map(({ kind, outcome }) => `${kind} ${outcome}`);
    expect(ended).toEqual(['poll complete', 'refresh failed']);
    expect(await polledAt()).toBe(before);
    restore();
    await movesIt('research_jobs', 'poll');
  });

  it('is that of the interrupted poll if a poll only continues it', async () => {
    await create({ order: 'rising' }, 'research_jobs');
    await interrupted('poll', 2);
    const begun = Date.now();
    await account.read('research_jobs', 'poll');
    expect(await polledAt()).toBeLessThan(begun);
    await movesIt('research_jobs', 'poll');
  });

  it('does not go back when a full walk ends that began before the last poll', async () => {
    await create({ jobs: 2_400 }, 'research_jobs');
    await confirmAll();
    const begun = await polledWithinFull(0);
    expect(await polledAt()).toBeGreaterThanOrEqual(begun);
  });

  it('goes back to a full walk’s beginning when that walk finds the order broken, on which polls relied', async () => {
    // Its last page has other items, too.
    await create({ jobs: 2_990 }, 'research_jobs');
    await confirmAll();
    const ids = (await account.sandbox.control.truth({ collection: 'research_jobs' })).map(
      (text) => (JSON.parse(text) as { job_id: number }).job_id,
    );
    // The list's last item has the greatest ID.
    const id = String(Math.min(...ids) - 1);
    const source = `{"job_id":${Math.max(...ids) + 1_000_000},"status":"completed"}`;
    await account.sandbox.control.mutate({ op: 'insert', collection: 'research_jobs', id, source });
    const begun = await polledWithinFull(3);
    expect(await polledAt()).toBeLessThan(begun);
    const contradicted = `select from mirror_sync.scope
      where collection = 'research_jobs' and (memory->'evidence'->>'contradicted')::boolean`;
    expect(await account.query(contradicted)).toHaveLength(1);
  });
});

describe('polled_at while a row is seen that is not believed yet', () => {
  /** Leaves the row as a deletion does; `ago` in SQL. */
  const deletedSince = (table: string, row: string, ago: string): Promise<unknown> =>
    account.query(`update mirror.${table} set _deleted_at = now() - interval '${ago}' where ${row}`);
  const isRead = async (table: 'research_jobs' | 'list_items', deleted: number): Promise<void> => {
    expect(await freshness(table)).toMatchObject({ state: 'current', last_error: null });
    const gone = await account.query(`select from mirror.${table} where _deleted_at is not null`);
    expect(gone).toHaveLength(deleted);
  };

  it.each([
    ['research_jobs', 'job_id = (select max(job_id) from mirror.research_jobs)'],
    ['list_items', '(list_id, id) = (select list_id, id from mirror.list_items order by 1, 2 limit 1)'],
  ] as const)('stays, and moves with the next poll after it is: %s', async (name, row) => {
    await create({}, 'lists', name);
    await account.read('lists', 'poll');
    await account.read(name, 'poll');
    const before = Date.now();
    await deletedSince(name, row, '0');
    await account.read('lists', 'poll');
    expect((await account.read(name, 'poll')).error).toBeUndefined();
    await isRead(name, 1);
    expect(await polledAt(name)).toBeLessThan(before);
    await account.reopen();
    await account.read(name, 'poll');
    expect(await polledAt(name)).toBeLessThan(before);
    // The grace period passes.
    await deletedSince(name, row, '1 hour');
    const begun = Date.now();
    await account.read('lists', 'poll');
    await account.read(name, 'poll');
    await isRead(name, 0);
    expect(await polledAt(name)).toBeGreaterThanOrEqual(begun);
  });

  it('moves if no page shows it again within ten grace periods: the page was stale', async () => {
    await create({}, 'research_jobs');
    const before = await polledAt();
    // The service does not have this row: no page proves it absent, since none begins before it.
    await account.query(`
      insert into mirror_sync.candidate (_user_id, collection, key, kind, obs, at)
      values (${account.current.reader.userId}, 'research_jobs', '1', 'returned', 1, now())`);
    await account.read('research_jobs', 'poll');
    expect(await polledAt()).toBe(before);
    await account.query(`update mirror_sync.candidate set at = ${earlier('at', '1 hour')}`);
    await movesIt('research_jobs', 'poll');
  });
});

describe('polled_at of list_items', () => {
  const cutOffItems = (list: string): void => cutOff((path) => path.startsWith(`/v1/lists/${list}`));
  const lists = () => lines(account, 'select list_id from mirror.lists order by list_id');

  /** An account whose pass failed at the first list. @returns the first two lists */
  const cutOffAtFirst = async (): Promise<readonly [string, string]> => {
    await create({}, 'lists');
    const [first = '', second = ''] = await lists();
    cutOffItems(first);
    await account.read('list_items', 'poll');
    return [first, second];
  };

  it('is empty while the lists were never polled, or one of them was never read', async () => {
    await create();
    await account.read('list_items', 'poll');
    expect(await polledAt('list_items')).toBeUndefined();
    await account.read('lists', 'full');
    const [, second = ''] = await lists();
    cutOffItems(second);
    expect((await account.read('list_items', 'poll')).error).toBeDefined();
    expect(await polledAt('list_items')).toBeUndefined();
    restore();
    await account.read('list_items', 'poll');
    const known = await polledAt('list_items');
    expect(known).toBeLessThanOrEqual((await polledAt('lists')) ?? 0);

    // A new list: the list is known, its items are not mirrored yet.
    await account.sandbox.control.mutate({ op: 'insert', collection: 'lists', fields: { name: 'new' } });
    await account.read('lists', 'poll');
    const newest = (await lists()).at(-1) ?? '';
    cutOffItems(newest);
    await account.read('list_items', 'poll');
    expect(await polledAt('list_items')).toBe(known);
  });

  it('is not held back by deleted lists, or by those that the service no longer knows', async () => {
    const [first, second] = await cutOffAtFirst();
    expect(await polledAt('list_items')).toBeUndefined();
    // As the deletion of the list leaves them.
    await account.query(`update mirror.lists set _deleted_at = now() where list_id = ${first}`);
    await account.query(`update mirror_sync.scope set gone_at = now() where parent = '${first}'`);
    await account.sandbox.control.mutate(
      { op: 'delete', collection: 'lists', id: first },
      { op: 'delete', collection: 'lists', id: second },
    );
    const begun = Date.now();
    await account.read('lists', 'poll');
    expect((await account.read('list_items', 'poll')).error).toBeUndefined();
    expect(await polledAt('list_items')).toBeGreaterThanOrEqual(begun);
  });

  it('stays, and the state stays failing, if only due lists were read after a failed pass', async () => {
    const [first, second] = await cutOffAtFirst();
    await account.query(`
      update mirror_sync.scope set due_at = case when parent = '${second}' then now() end where collection = 'list_items';
      update mirror_sync.scope set last_read_at = now() where parent = '${first}'`);
    const { error } = await account.current.reader.readDue('list_items', new AbortController().signal);
    expect(error).toBeUndefined();
    expect(await freshness('list_items')).toMatchObject({ state: 'failing', polledAt: undefined });
  });
});
