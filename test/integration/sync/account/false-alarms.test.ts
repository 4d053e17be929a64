import { afterEach, describe, expect, it } from 'vitest';
import { dueEarlier } from '../../../support/sync/due-earlier.ts';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

/** Lists in the order in which the service has them, their items read once. */
async function create(): Promise<string[]> {
  account = await createTestAccount();
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
async function change(list: string): Promise<void> {
  const items = await account.sandbox.control.truth({ collection: 'list_items', list });
  const { id } = JSON.parse(items[0] ?? '') as { id: unknown };
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
});
