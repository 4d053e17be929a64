import { afterEach, describe, expect, it } from 'vitest';
import { dueEarlier } from '../../../support/sync/due-earlier.ts';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

/** Lists in the order in which the service has them, their items read once. */
async function create(switches: Parameters<typeof createTestAccount>[0] = {}): Promise<string[]> {
  account = await createTestAccount(switches);
  await account.read('lists', 'full');
  await account.read('list_items', 'poll');
  const lists = await account.query<{ parent: string }>(
    `select parent from mirror_sync.scope where collection = 'list_items' order by parent`,
  );
  return lists.map(({ parent }) => parent);
}

let changes = 0;
/** The service changes the list's row, and none of its items. */
async function touch(list: string): Promise<void> {
  changes += 1;
  const fields = { note: `changed ${changes}` };
  await account.sandbox.control.mutate({ op: 'update', collection: 'lists', id: list, fields });
}

/** An item changes, and the list's row with it. */
async function change(list: string, which = 0): Promise<void> {
  const items = await account.sandbox.control.truth({ collection: 'list_items', list });
  const { id } = JSON.parse(items.at(which) ?? '') as { id: unknown };
  changes += 1;
  await account.sandbox.control.mutate({
    op: 'update',
    collection: 'list_items',
    list,
    id: String(id),
    fields: { notes: `changed ${changes}` },
  });
  await touch(list);
}

/** What the daemon does each minute: the lists' rows, then those that changed at once. @returns lists that it read */
async function readChanged(): Promise<string[]> {
  const { signal } = new AbortController();
  await account.read('lists', 'poll');
  await dueEarlier(account);
  const asked = account.asked.length;
  const { error } = await account.current.reader.readDue('list_items', signal);
  expect(error).toBeUndefined();
  return account.asked.slice(asked).flatMap((path) => /^\/v1\/lists\/([^?]+)/.exec(path)?.[1] ?? []);
}

async function alarmsOf(list: string): Promise<{ true: number; false: number }> {
  const [row] = await account.query<{ true: number; false: number }>(
    `select true_alarms as "true", false_alarms as "false" from mirror_sync.scope
     where collection = 'list_items' and parent = '${list}'`,
  );
  if (row === undefined) throw new Error(`list ${list} has no scope`);
  return row;
}

describe('a list whose row changes without its items', () => {
  it('is not read at once any more after ten times, but with the others; and is again where its items change', async () => {
    const [noisy = '', honest = ''] = await create();
    expect(await alarmsOf(noisy)).toEqual({ true: 0, false: 0 });
    for (let time = 0; time < 10; time += 1) {
      await touch(noisy);
      expect(await readChanged()).toEqual([noisy]);
    }
    expect((await alarmsOf(noisy)).true).toBe(0);
    await touch(noisy);
    await change(honest);
    expect(await readChanged()).toEqual([honest]);
    expect(await alarmsOf(honest)).toEqual({ true: 1, false: 0 });
    // It is still due: what changes is found by the line's run, and shows the row to be right again.
    await change(noisy);
    expect(await readChanged()).toEqual([]);
    await account.read('list_items', 'poll');
    expect((await alarmsOf(noisy)).true).toBe(1);
    await touch(noisy);
    expect(await readChanged()).toEqual([noisy]);
    expect(
      await account.query(
        `select parent from mirror_sync.scope where collection = 'list_items' and due_at is not null`,
      ),
    ).toEqual([]);
  });

  it('is read at once all the same after a day, and where a verification catches up', async () => {
    const [noisy = ''] = await create();
    const wrong = (readAt: string): Promise<unknown> =>
      account.query(
        `update mirror_sync.scope set false_alarms = 20, last_read_at = ${readAt}
         where collection = 'list_items' and parent = '${noisy}'`,
      );
    await wrong('now()');
    await touch(noisy);
    expect(await readChanged()).toEqual([]);
    const asked = account.asked.length;
    await account.current.reader.readDue('list_items', new AbortController().signal, 'all');
    expect(account.asked.slice(asked).some((path) => path.startsWith(`/v1/lists/${noisy}`))).toBe(true);
    await wrong(`now() - interval '25 hours'`);
    await touch(noisy);
    expect(await readChanged()).toEqual([noisy]);
  });
});

it('a change that only the refresh after the poll finds was no false alarm', async () => {
  const [list = ''] = await create({ lists: 1, itemsPerList: 400 });
  const items = await account.sandbox.control.truth({ collection: 'list_items', list });
  const { id } = JSON.parse(items.at(-1) ?? '') as { id: unknown };
  const update = async (status: string): Promise<void> => {
    await account.sandbox.control.mutate({
      op: 'update',
      collection: 'list_items',
      list,
      id: String(id),
      fields: { status },
    });
  };
  await update('processing');
  await account.read('list_items', 'full');
  const before = await alarmsOf(list);
  await update('completed');
  const walks = account.walks.length;
  await readChanged();
  expect(account.walks.slice(walks).map(({ kind }) => kind)).toEqual(['poll', 'poll', 'refresh']);
  const after = await alarmsOf(list);
  expect(after.true - before.true).toBeCloseTo(1, 1);
  expect(after.false).toBe(0);
});
