import { afterEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { createTestAccount, type TestAccount } from '../../../support/sync/read-account.ts';
import { dueEarlier } from '../../../support/sync/due-earlier.ts';

let account: TestAccount;
afterEach(() => account.close());

/** This machine's wall clock is wrong by so much, and the database's is right. */
const wrongBy = (ms: number): Clock => ({ ...systemClock, now: () => systemClock.now() + ms });

const due = (): Promise<{ parent: string }[]> =>
  account.query(
    `select parent from mirror_sync.scope where collection = 'list_items' and due_at is not null`,
  );

describe('lists that became due, where this machine and the database disagree on the time', () => {
  it.each([-600_000, 600_000])('are read once, and are due no more (%d ms)', async (ms) => {
    account = await createTestAccount({}, wrongBy(ms));
    await account.read('lists', 'current');
    expect(await due()).toHaveLength(3);
    await dueEarlier(account);
    account.asked.length = 0;
    await account.current.reader.readDue('list_items', new AbortController().signal);
    expect(account.asked.toSorted()).toEqual([...new Set(account.asked)].toSorted());
    expect(await due()).toEqual([]);
  });
});
