import { afterEach, describe, expect, it } from 'vitest';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

const due = (): Promise<{ parent: string }[]> =>
  account.query(`select parent from mirror_sync.scope
    where collection = 'list_items' and due_at is not null order by due_at, parent`);

/** Reads a list's items, and does something while they are read. */
async function readItems(parent: string, meanwhile: () => Promise<void> = async () => {}): Promise<void> {
  let once = true;
  account.onRequest = async (path) => {
    if (!once || !path.startsWith(`/v1/lists/${parent}`)) return;
    once = false;
    await meanwhile();
  };
  const hinted = { whole: true, keys: [], known: new Set<string>() };
  const { signal } = new AbortController();
  await account.current.reader.readHinted('list_items', {
    parent,
    hinted,
    requests: 1,
    priority: 40,
    signal,
  });
}

async function change(id: string): Promise<void> {
  await account.sandbox.control.mutate({
    op: 'update',
    collection: 'lists',
    id,
    fields: { note: 'changed' },
  });
  await account.read('lists', 'poll');
}

describe('a list that is due', () => {
  it('stays so when it changes again while its items are read, behind those that were due before', async () => {
    account = await createTestAccount();
    await account.read('lists', 'current');
    const before = (await due()).map(({ parent }) => parent);
    const [list = ''] = before;
    await readItems(list, () => change(list));
    expect((await due()).map(({ parent }) => parent)).toEqual([...before.slice(1), list]);
    await readItems(list);
    expect((await due()).map(({ parent }) => parent)).toEqual(before.slice(1));
  });

  it('keeps its place when it changes again before its items are read', async () => {
    account = await createTestAccount();
    await account.read('lists', 'current');
    const before = await due();
    await change(before[0]?.parent ?? '');
    expect(await due()).toEqual(before);
  });
});
