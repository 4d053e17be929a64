import { beforeEach, describe, expect, it } from 'vitest';
import { leastOfScopes } from '../../../../src/mirror/scope-store.ts';
import { itemsWith, proveAbsent } from '../../../support/mirror/deleting.ts';
import type { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();
let account: MirroredAccount;
let other: MirroredAccount;
beforeEach(async () => {
  account = await newAccount();
  other = await newAccount();
});

const set = (of: MirroredAccount, what: string, which: string): Promise<unknown> =>
  of.query(`update mirror_sync.scope set ${what} where _user_id = ${of.fence.userId} and ${which}`);

/** Rows of scopes without a walk: of another collection, and of no parent. */
const plant = (): Promise<unknown> =>
  account.query(`insert into mirror_sync.scope (_user_id, collection, parent)
    values (${account.fence.userId}, 'watchlist', '2'), (${account.fence.userId}, 'list_items', '')`);

async function least({ database, fence } = account) {
  const of = (column: 'polled_at' | 'complete_as_of') =>
    leastOfScopes(database.db, fence.userId, 'list_items', column);
  return { polled: await of('polled_at'), complete: await of('complete_as_of') };
}

const HOUR = 3_600_000;
const AT = Date.parse('2026-03-01T12:00:00Z');
const KNOWN = {
  polled: { least: new Date('2026-01-05T00:00:00Z'), lacking: false },
  complete: { least: new Date('2026-01-04T00:00:00Z'), lacking: false },
};
const ABSENT = { polled: { lacking: true }, complete: { lacking: true } };
const BAD = ',{"list_id":2,"n":1e999999}';

/** Reads the lists at `at`: `1`, and the given ones. The items of all are complete. */
async function read(of: MirroredAccount, more = '', at = AT): Promise<void> {
  await of.page('lists', `[{"list_id":1}${more}]`);
  await of.note('lists', { fullAt: new Date(at), lastReadAt: new Date(at) });
  await of.query(
    `update mirror.quarantine set last_seen_at = '${new Date(AT).toISOString()}' where _user_id = ${of.fence.userId}`,
  );
  await set(of, `polled_at = '2026-01-05Z', complete_as_of = '2026-01-04Z'`, `collection = 'list_items'`);
}

describe('the moment that a collection with parents is complete as of', () => {
  it('is undefined without a scope, and nothing is lacking', async () => {
    const nothing = { least: undefined, lacking: false };
    expect(await least()).toEqual({ polled: nothing, complete: nothing });
  });

  it('is stored for each scope; the collection’s is the least of those that are not deleted', async () => {
    await account.observe('lists', itemsWith('list_id', [1, 2, 3]));
    const day = (of: number): Date => new Date(Date.UTC(2026, 0, of));
    const complete = async () => (await least()).complete;
    const readItems = async (parent: string, of: number): Promise<void> => {
      await account.page('list_items', '[]', { parent });
      await account.note('list_items', { completeAsOf: day(of) }, parent);
    };
    await readItems('1', 2);
    await readItems('2', 1);
    expect(await complete()).toEqual({ least: day(1), lacking: true });
    await readItems('3', 3);
    expect(await complete()).toEqual({ least: day(1), lacking: false });
    await proveAbsent(account, 'lists', itemsWith('list_id', [1, 3]));
    await account.applyDeletions('lists');
    expect(await complete()).toEqual({ least: day(2), lacking: false });
  });

  it('is the least over the account’s own scopes with parents', async () => {
    await read(account);
    await other.page('lists', '[{"list_id":2}]');
    await plant();
    expect(await least()).toEqual(KNOWN);
  });
});

describe('while parents are in quarantine, it', () => {
  it('lacks their items, in this account alone', async () => {
    await read(account, BAD);
    await read(other);
    expect(await least()).toMatchObject(ABSENT);
    expect(await least(other)).toEqual(KNOWN);
    // Another account has that list and has read its lists since.
    await read(other, ',{"list_id":2}', AT + 9 * HOUR);
    expect(await least()).toMatchObject(ABSENT);
  });

  it('lacks nothing for a parent that has a row, or for an item without key', async () => {
    await read(account, ',{"list_id":2}');
    await read(account, `${BAD},{"name":"without a key"}`);
    expect(await least()).toEqual(KNOWN);
  });

  it('lacks nothing for quarantined items of other collections', async () => {
    await read(account);
    await account.page('research_jobs', '[{"job_id":7,"n":1e999999}]');
    await account.page('list_items', '[{"id":"8","n":1e999999}]', { parent: '1' });
    await account.page('list_items', '[{"id":"1"},{"id":"2","n":1e999999}]', { parent: '1' });
    expect(await least()).toEqual(KNOWN);
    await plant();
    await read(account, BAD);
    expect(await least()).toMatchObject(ABSENT);
  });

  it('lacks them until a full walk of the parents more than an hour after the parent was last seen', async () => {
    await read(account, BAD, AT + HOUR);
    expect(await least()).toMatchObject(ABSENT);
    // Other walks of the account show nothing about its parents, nor does a poll of them.
    await set(account, `full_at = '2026-03-02Z'`, `parent = '1'`);
    await account.page('watchlist', '[]');
    await account.note('watchlist', { fullAt: new Date(AT + 9 * HOUR) });
    await set(account, `last_read_at = '2026-03-02Z'`, `collection = 'lists'`);
    expect(await least()).toMatchObject(ABSENT);
    await set(account, `full_at = '${new Date(AT + HOUR + 1).toISOString()}'`, `collection = 'lists'`);
    expect(await least()).toEqual(KNOWN);
  });
});
