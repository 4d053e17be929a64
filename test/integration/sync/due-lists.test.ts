import { afterEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { createTestAccount, type TestAccount } from '../../support/sync/read-account.ts';
import { earlier } from '../../support/postgres/earlier.ts';

let account: TestAccount;
afterEach(() => account.close());

/** Lists that are due, those that are due longest first. */
const due = async (): Promise<string[]> =>
  (
    await account.query<{ parent: string }>(`select parent from mirror_sync.scope
      where collection = 'list_items' and due_at is not null order by due_at, parent`)
  ).map(({ parent }) => parent);

let changes = 0;
/** The service changes the list's row, and none of its items. */
async function touch(id: string): Promise<void> {
  const fields = { note: `changed ${(changes += 1)}` };
  await account.sandbox.control.mutate({ op: 'update', collection: 'lists', id, fields });
}

/** What the daemon does each minute with lists that changed. @returns those that it read */
async function readDue(): Promise<string[]> {
  // As if they had become due a minute earlier. When a request was sent is known to some milliseconds only: a list that
  // became due within them is read once more.
  await account.query(
    `update mirror_sync.scope set due_at = ${earlier('due_at', '1 minute')},
       last_due_at = ${earlier('last_due_at', '1 minute')}`,
  );
  const asked = account.asked.length;
  const { error } = await account.current.reader.readDue('list_items', new AbortController().signal);
  expect(error).toBeUndefined();
  return account.asked.slice(asked).flatMap((path) => /^\/v1\/lists\/([^?]+)/.exec(path)?.[1] ?? []);
}

/** This machine's wall clock is wrong by so much, and the database's is right. */
const wrongBy = (ms: number): Clock => ({ ...systemClock, now: () => systemClock.now() + ms });

it.each([-600_000, 600_000])(
  'due lists are read once, though the machine’s clock differs from the database’s by %d ms',
  async (ms) => {
    account = await createTestAccount({}, wrongBy(ms));
    await account.read('lists', 'current');
    const before = await due();
    expect(before).toHaveLength(3);
    expect((await readDue()).toSorted()).toEqual(before.toSorted());
    expect(await due()).toEqual([]);
  },
);

describe('a list that is due', () => {
  /** Reads a list's items, and does something while they are read. */
  async function readItems(parent: string, meanwhile: () => Promise<void> = async () => {}): Promise<void> {
    let once = true;
    account.onRequest = async (path) => {
      if (!once || !path.startsWith(`/v1/lists/${parent}`)) return;
      once = false;
      await meanwhile();
    };
    const { fence, reader } = account.current;
    const { signal } = new AbortController();
    const request = { keys: [''], known: new Set<string>(), requests: 1, priority: 40, signal } as const;
    await reader.readHinted({ userId: fence.userId, collection: 'list_items', parent }, request);
  }

  const change = async (id: string): Promise<void> => {
    await touch(id);
    await account.read('lists', 'poll');
  };

  it('stays due if it changes again while its items are read, behind those that were due before', async () => {
    account = await createTestAccount();
    await account.read('lists', 'current');
    const before = await due();
    const [list = ''] = before;
    await readItems(list, () => change(list));
    expect(await due()).toEqual([...before.slice(1), list]);
    await readItems(list);
    expect(await due()).toEqual(before.slice(1));
  });

  it('keeps its place if it changes again before its items are read', async () => {
    account = await createTestAccount();
    await account.read('lists', 'current');
    const before = await due();
    await change(before[0] ?? '');
    expect(await due()).toEqual(before);
  });
});

it('a list is read at once each time its row changes, though none of its items did', async () => {
  account = await createTestAccount();
  await account.read('lists', 'full');
  await account.read('list_items', 'poll');
  const [{ noisy } = { noisy: '' }] = await account.query<{ noisy: string }>(
    `select min(parent) as noisy from mirror_sync.scope where collection = 'list_items'`,
  );
  for (let time = 0; time < 3; time += 1) {
    await touch(noisy);
    await account.read('lists', 'poll');
    expect(await readDue()).toEqual([noisy]);
    expect(await due()).toEqual([]);
  }
});
