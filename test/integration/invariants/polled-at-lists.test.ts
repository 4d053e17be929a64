import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';
import { cutOff, interrupted, polledAt } from '../../support/mirror/freshness-of-account.ts';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';

// `freshness.polled_at` says: new rows, and changes of rows that may still change, are here as of then. It may say
// less than is true, never more.

let account: TestAccount;
afterEach(() => account.close());

const create = async (switches: Partial<SandboxOptions> = {}): Promise<void> => {
  account = await createTestAccount(switches);
  await account.sandbox.control.clock({ freeze: true });
};

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
    expect(await polledAt(account, 'list_items')).toBeUndefined();
    await account.read('lists', 'full');
    const [, second = ''] = await lists();
    cutOff(account, itemsOf(second));
    expect((await account.read('list_items', 'poll')).error).toBeDefined();
    expect(await polledAt(account, 'list_items')).toBeUndefined();
    account.onRequest = () => {};
    await account.read('list_items', 'poll');
    const known = await polledAt(account, 'list_items');
    expect(known).toBeLessThanOrEqual((await polledAt(account, 'lists')) ?? 0);

    // A new list: known is that of the lists, and its items are not here yet.
    await account.sandbox.control.mutate({ op: 'insert', collection: 'lists', fields: { name: 'new' } });
    await account.read('lists', 'poll');
    const newest = (await lists()).at(-1) ?? '';
    cutOff(account, itemsOf(newest));
    await account.read('list_items', 'poll');
    expect(await polledAt(account, 'list_items')).toBe(known);
  });

  it('is that of the list that could be read least lately', async () => {
    await create();
    await account.read('lists', 'full');
    await account.read('list_items', 'poll');
    const before = (await polledAt(account, 'list_items')) ?? 0;
    const [first = ''] = await lists();
    cutOff(account, itemsOf(first));
    const begun = Date.now();
    await account.read('lists', 'poll');
    expect((await account.read('list_items', 'poll')).error).toBeDefined();
    expect(await polledAt(account, 'list_items')).toBeGreaterThanOrEqual(before);
    expect(await polledAt(account, 'list_items')).toBeLessThan(begun);
  });

  it('stays when a pass is interrupted', async () => {
    await create();
    await account.read('lists', 'full');
    await account.read('list_items', 'poll');
    const before = await polledAt(account, 'list_items');
    await account.read('lists', 'poll');
    await interrupted(account, 'list_items', 'poll', 1);
    expect(await polledAt(account, 'list_items')).toBe(before);
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
    cutOff(account, (path) => itemsOf(list)(path) && account.walks.length > walks);
    expect((await account.read('list_items', 'poll')).error).toBeDefined();
    expect(account.walks.slice(walks).map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      'poll complete',
      'refresh failed',
    ]);
    expect(await polledAt(account, 'list_items')).toBeLessThan(begun);
  });

  it('is not held by lists that are gone: deleted ones, and those that the service does not know any more', async () => {
    await create();
    await account.read('lists', 'full');
    const [first = '', second = ''] = await lists();
    cutOff(account, itemsOf(first));
    await account.read('list_items', 'poll');
    expect(await polledAt(account, 'list_items')).toBeUndefined();
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
    expect(await polledAt(account, 'list_items')).toBeGreaterThanOrEqual(begun);
  });

  it('and the state stay failing when only what came due was read after a pass that failed', async () => {
    await create();
    await account.read('lists', 'full');
    const [first = '', second = ''] = await lists();
    cutOff(account, itemsOf(first));
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
