import { afterEach, describe, expect, it } from 'vitest';
import { TransportError } from '../../../src/model/errors.ts';
import { Stopped } from '../../../src/runtime/service.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { SandboxOptions } from '../../../src/sandbox/switches/sandbox-switches.ts';
import { createTestAccount, type TestAccount } from '../../support/read-account.ts';

// `freshness.polled_at` says: new rows, and changes of rows that may still change, are here as of then. It may say
// less than is true, never more.

let account: TestAccount;
afterEach(() => account.close());

const create = async (switches: Partial<SandboxOptions> = {}): Promise<void> => {
  account = await createTestAccount(switches);
  await account.sandbox.control.clock({ freeze: true });
};

/** Milliseconds; undefined: nothing is said. */
const polledAt = async (name: CollectionName): Promise<number | undefined> => {
  const [row] = await account.query<{ polled_at: Date | null }>(
    `select polled_at from mirror.freshness where collection = '${name}'`,
  );
  return row?.polled_at?.getTime();
};

/** From now on, requests that `which` chooses find no way to the service. */
const cutOff = (which: (path: string) => boolean): void => {
  account.onRequest = (path) => {
    if (which(path)) throw new TransportError('no route to the service');
  };
};

/** Reads until `requests` were sent, and is stopped then. */
const interrupted = async (name: CollectionName, what: 'full' | 'poll', requests: number): Promise<void> => {
  const stop = new AbortController();
  let left = requests;
  account.onRequest = () => {
    if (left === 0) stop.abort(new Stopped('the test'));
    left -= 1;
  };
  await account.read(name, what, stop.signal).catch(() => {});
  account.onRequest = () => {};
};

const jobsOf = (path: string): boolean => path.startsWith('/v1/research?');

describe('polled_at of a collection', () => {
  it('says nothing before the first load has ended, whatever polls brought meanwhile', async () => {
    await create();
    await interrupted('research_jobs', 'full', 3);
    await account.read('research_jobs', 'poll');
    expect(await polledAt('research_jobs')).toBeUndefined();
    await account.reopen();
    const { error, fullNeeded } = await account.read('research_jobs', 'poll');
    expect({ error, fullNeeded }).toEqual({ error: undefined, fullNeeded: true });
    expect(account.walks.at(-1)).toMatchObject({ kind: 'poll', outcome: 'complete' });
    expect(await polledAt('research_jobs')).toBeUndefined();
    await account.read('research_jobs', 'full');
    expect(await polledAt('research_jobs')).toBeDefined();
  });

  it('is that of the first load’s beginning, also when that was interrupted, until a poll follows it', async () => {
    await create();
    await interrupted('research_jobs', 'full', 3);
    const begun = Date.now();
    await account.reopen();
    cutOff(() => account.walks.some(({ kind, outcome }) => kind === 'full' && outcome === 'complete'));
    expect((await account.read('research_jobs', 'full')).error).toBeDefined();
    expect(await polledAt('research_jobs')).toBeLessThan(begun);
    account.onRequest = () => {};
    await account.read('research_jobs', 'poll');
    expect(await polledAt('research_jobs')).toBeGreaterThanOrEqual(begun);
  });

  it('stays while a poll fails or is interrupted', async () => {
    await create();
    await account.read('research_jobs', 'full');
    const before = await polledAt('research_jobs');
    await interrupted('research_jobs', 'poll', 2);
    expect(await polledAt('research_jobs')).toBe(before);
    cutOff(jobsOf);
    expect((await account.read('research_jobs', 'poll')).error).toBeDefined();
    expect(await polledAt('research_jobs')).toBe(before);
  });

  it('stays while the refresh after a poll fails, though the poll itself was good', async () => {
    // Jobs for ever under way, more than the poll's overlap passes.
    await create({ jobs: 600, stuckShare: 1 });
    await account.read('research_jobs', 'full');
    const before = await polledAt('research_jobs');
    const walks = account.walks.length;
    cutOff((path) => jobsOf(path) && account.walks.length > walks);
    expect((await account.read('research_jobs', 'poll')).error).toBeDefined();
    expect(account.walks.slice(walks).map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      'poll complete',
      'refresh failed',
    ]);
    expect(await polledAt('research_jobs')).toBe(before);
    account.onRequest = () => {};
    const begun = Date.now();
    expect((await account.read('research_jobs', 'poll')).error).toBeUndefined();
    expect(await polledAt('research_jobs')).toBeGreaterThanOrEqual(begun);
  });

  it('is that of the interrupted poll where a poll only goes on with it', async () => {
    await create({ order: 'rising' });
    await account.read('research_jobs', 'full');
    await interrupted('research_jobs', 'poll', 2);
    const begun = Date.now();
    await account.read('research_jobs', 'poll');
    expect(await polledAt('research_jobs')).toBeLessThan(begun);
    await account.read('research_jobs', 'poll');
    expect(await polledAt('research_jobs')).toBeGreaterThanOrEqual(begun);
  });

  it('does not go back when a full walk ends that began before the last poll', async () => {
    await create({ jobs: 2_400 });
    await account.read('research_jobs', 'full');
    let poll: Promise<unknown> | undefined;
    let begun = 0;
    account.onRequest = () => {
      if (poll !== undefined) return;
      begun = Date.now();
      poll = account.read('research_jobs', 'poll');
    };
    const walks = account.walks.length;
    await account.read('research_jobs', 'full');
    await poll;
    expect(account.walks.slice(walks).map(({ kind }) => kind)).toEqual(['poll', 'refresh', 'full']);
    expect(await polledAt('research_jobs')).toBeGreaterThanOrEqual(begun);
  });

  it('goes back to a full walk’s beginning when that walk finds the order broken, on which polls relied', async () => {
    await create({ jobs: 3_000 });
    await account.read('research_jobs', 'full');
    const truth = await account.sandbox.control.truth({ collection: 'research_jobs' });
    const [top, last] = [truth[0], truth.at(-1)].map(
      (text) => (JSON.parse(text ?? '') as { job_id: number }).job_id,
    );
    let poll: Promise<unknown> | undefined;
    let begun = 0;
    const sent = account.asked.length;
    const walks = account.walks.length;
    account.onRequest = () => {
      if (poll !== undefined || account.asked.length < sent + 3) return;
      begun = Date.now();
      poll = account.read('research_jobs', 'poll');
    };
    // At the list's end stands an item whose ID is greater than that of all others.
    await account.sandbox.control.mutate({
      op: 'insert',
      collection: 'research_jobs',
      id: String(Number(last) - 1),
      source: `{"job_id":${Number(top) + 1_000_000},"status":"completed"}`,
    });
    await account.read('research_jobs', 'full');
    await poll;
    expect(account.walks.slice(walks).map(({ kind }) => kind)).toEqual(['poll', 'refresh', 'full']);
    expect(await polledAt('research_jobs')).toBeLessThan(begun);
    const [scope] = await account.query<{ doubt: boolean }>(
      `select (memory->'evidence'->>'contradicted')::boolean as doubt from mirror_sync.scope where collection = 'research_jobs'`,
    );
    expect(scope).toEqual({ doubt: true });
  });
});

describe('polled_at of list_items', () => {
  const itemsOf =
    (list: string) =>
    (path: string): boolean =>
      path.startsWith(`/v1/lists/${list}`);
  const lists = async (): Promise<string[]> =>
    (
      await account.query<{ id: string }>('select list_id::text as id from mirror.lists order by list_id')
    ).map(({ id }) => id);

  it('says nothing while the lists were never polled, or one of them was never read', async () => {
    await create();
    await account.read('list_items', 'poll');
    expect(await polledAt('list_items')).toBeUndefined();
    await account.read('lists', 'full');
    const [, second = ''] = await lists();
    cutOff(itemsOf(second));
    expect((await account.read('list_items', 'poll')).error).toBeDefined();
    expect(await polledAt('list_items')).toBeUndefined();
    account.onRequest = () => {};
    await account.read('list_items', 'poll');
    const known = await polledAt('list_items');
    expect(known).toBeLessThanOrEqual((await polledAt('lists')) ?? 0);

    // A new list: known is that of the lists, and its items are not here yet.
    await account.sandbox.control.mutate({ op: 'insert', collection: 'lists', fields: { name: 'new' } });
    await account.read('lists', 'poll');
    const newest = (await lists()).at(-1) ?? '';
    cutOff(itemsOf(newest));
    await account.read('list_items', 'poll');
    expect(await polledAt('list_items')).toBe(known);
  });

  it('is that of the list that could be read least lately', async () => {
    await create();
    await account.read('lists', 'full');
    await account.read('list_items', 'poll');
    const before = (await polledAt('list_items')) ?? 0;
    const [first = ''] = await lists();
    cutOff(itemsOf(first));
    const begun = Date.now();
    await account.read('lists', 'poll');
    expect((await account.read('list_items', 'poll')).error).toBeDefined();
    expect(await polledAt('list_items')).toBeGreaterThanOrEqual(before);
    expect(await polledAt('list_items')).toBeLessThan(begun);
  });

  it('stays when a pass is interrupted', async () => {
    await create();
    await account.read('lists', 'full');
    await account.read('list_items', 'poll');
    const before = await polledAt('list_items');
    await account.read('lists', 'poll');
    await interrupted('list_items', 'poll', 1);
    expect(await polledAt('list_items')).toBe(before);
  });

  it('stays while the refresh of a list fails, though its poll was good', async () => {
    await create({ lists: 1, itemsPerList: 400 });
    await account.read('lists', 'full');
    const [list = ''] = await lists();
    const items = await account.sandbox.control.truth({ collection: 'list_items', list });
    const { id } = JSON.parse(items.at(-1) ?? '') as { id: unknown };
    await account.sandbox.control.mutate({
      op: 'update',
      collection: 'list_items',
      list,
      id: String(id),
      fields: { status: 'processing' },
    });
    await account.read('list_items', 'poll');
    const begun = Date.now();
    await account.read('lists', 'poll');
    const walks = account.walks.length;
    cutOff((path) => itemsOf(list)(path) && account.walks.length > walks);
    expect((await account.read('list_items', 'poll')).error).toBeDefined();
    expect(account.walks.slice(walks).map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      'poll complete',
      'refresh failed',
    ]);
    expect(await polledAt('list_items')).toBeLessThan(begun);
  });

  it('is not held by lists that are gone: deleted ones, and those that the service does not know any more', async () => {
    await create();
    await account.read('lists', 'full');
    const [first = '', second = ''] = await lists();
    cutOff(itemsOf(first));
    await account.read('list_items', 'poll');
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

  it('and the state stay failing when only what came due was read after a pass that failed', async () => {
    await create();
    await account.read('lists', 'full');
    const [first = '', second = ''] = await lists();
    cutOff(itemsOf(first));
    await account.read('list_items', 'poll');
    await account.query(
      `update mirror_sync.scope set due_at = case when parent = '${second}' then now() end where collection = 'list_items'`,
    );
    await account.query(`update mirror_sync.scope set last_read_at = now() where parent = '${first}'`);
    const { error } = await account.current.reader.readDue('list_items', new AbortController().signal);
    expect(error).toBeUndefined();
    expect(
      await account.query(`select state, polled_at from mirror.freshness where collection = 'list_items'`),
    ).toEqual([{ state: 'failing', polled_at: null }]);
  });
});
