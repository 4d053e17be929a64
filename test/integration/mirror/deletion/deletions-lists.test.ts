import { describe, expect, it } from 'vitest';
import type { MirrorOptions } from '../../../../src/mirror/mirror.ts';
import { Superseded } from '../../../../src/mirror/scope-store.ts';
import { deleteAllBut, itemsWith, proveAbsent, SNAPSHOT } from '../../../support/mirror/deleting.ts';
import { rowsWith } from '../../../support/mirror/search-everything.ts';
import { createMigratedDatabase } from '../../../support/databases/migrated-database.ts';
import { changeId, MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';
import { dueLists } from '../../../support/mirror/due-lists.ts';

const newAccount = testAccounts();

const lists = (...ids: number[]): string => itemsWith('list_id', ids);
const items = (count: number): string =>
  JSON.stringify(Array.from({ length: count }, (_, index) => ({ id: `i${index}` })));

/** Lists 1 and 2, with items. */
async function twoLists(options: Partial<MirrorOptions> = {}, counts = [2, 2]): Promise<MirroredAccount> {
  const account = await newAccount(options);
  await account.observe('lists', lists(1, 2));
  for (const [at, count] of counts.entries()) {
    await account.observe('list_items', items(count), { parent: String(at + 1) });
  }
  return account;
}

const liveItems = (account: MirroredAccount): Promise<readonly string[]> =>
  account.rowsOf('list_id, id', 'mirror.list_items', 'and _deleted_at is null order by 1, 2');
const logOf = (account: MirroredAccount): Promise<readonly string[]> =>
  account.rowsOf('collection, list_id, deleted', 'mirror.sync_log', 'order by walk_id');

const OF_LIST_1 = ['1 i0', '1 i1'];

describe('a list that is deleted', () => {
  it('is deleted with its items, and none of other lists', async () => {
    const account = await twoLists();
    expect(await deleteAllBut(account, 'lists', lists(1))).toMatchObject({
      deleted: 1,
      along: new Map([['list_items', 2]]),
      changed: [
        { table: 'list_items', changeId: changeId(8) },
        { table: 'lists', changeId: changeId(9) },
      ],
    });
    expect(await liveItems(account)).toEqual(OF_LIST_1);
    // Deleted at the same moment, in the same transaction as the list.
    const together = 'distinct i._deleted_at = l._deleted_at as same_time, i.xmin = l.xmin as same_transaction';
    const both = 'mirror.list_items i join mirror.lists l using (_user_id, list_id)';
    expect(await account.rowsOf(together, both, 'and list_id = 2')).toEqual(['true true']);
    const fresh = await account.rowsOf('collection, live_rows, deleted_rows', 'mirror.freshness');
    expect(fresh).toEqual(['list_items 2 2', 'lists 1 1']);
    expect(await logOf(account)).toEqual(['list_items 2 2', 'lists - 1']);
  });

  it('is deleted with all of its items or not at all', async () => {
    const own = await createMigratedDatabase();
    const account = await MirroredAccount.make(own, '1');
    await account.observe('lists', lists(1, 2));
    await account.observe('list_items', items(3), { parent: '2' });
    await proveAbsent(account, 'lists', lists(1));
    await account.query(`
      create function refuse() returns trigger language plpgsql set search_path = '' as
      $$ begin raise 'the disk is full' using errcode = '53100'; end $$;
      create constraint trigger refuse after update on mirror.lists deferrable initially deferred
      for each row execute function refuse()`);
    const everything = async (): Promise<string[]> => (await rowsWith(own.db, '')).toSorted();
    const before = await everything();
    await expect(account.applyDeletions('lists')).rejects.toThrow('53100');
    expect(await everything()).toEqual(before);
    await account.query('drop trigger refuse on mirror.lists');
    expect(await account.applyDeletions('lists')).toMatchObject({ deleted: 1 });
    expect(await liveItems(account)).toEqual([]);
    await own.drop();
  });

  it('is blocked by the volume of its items', async () => {
    const account = await twoLists({}, [30, 11]);
    expect(await deleteAllBut(account, 'lists', lists(1))).toMatchObject({ deleted: 0, blocked: 1 });
    expect(await liveItems(account)).toHaveLength(41);
    expect(await account.applyDeletions('lists', { accept: true })).toMatchObject({ deleted: 1, blocked: 0 });
    expect(await liveItems(account)).toHaveLength(30);
    // It was accepted, so it does not count for the next item.
    const next = await deleteAllBut(account, 'list_items', items(29), { parent: '1' });
    expect(next).toMatchObject({ deleted: 1 });
  });

  it('has no suspects, quarantined items or unfinished rows, and is not read; other lists keep theirs', async () => {
    const account = await twoLists();
    const hostile = '[{"id":"i0","status":"open"},{"id":"i1"},{"id":"bad","n":1e200000},{"name":"no ID"}]';
    for (const parent of ['1', '2']) await account.observe('list_items', hostile, { parent });
    await account.age(account.gracePeriodMs);
    for (const parent of ['1', '2']) {
      await account.observe('list_items', '[{"id":"i0","status":"open"}]', { parent, proof: SNAPSHOT });
    }
    const stored = () =>
      Promise.all(
        ['mirror_sync.candidate', 'mirror_sync.unsettled', 'mirror.quarantine'].map((table) =>
          account.rowsOf('distinct parent', table),
        ),
      );
    expect(await stored()).toEqual([1, 2, 3].map(() => ['1', '2']));
    await deleteAllBut(account, 'lists', lists(1));
    expect(await stored()).toEqual([1, 2, 3].map(() => ['1']));
    expect(await dueLists(account.database.db, account.fence.userId)).toEqual(['1']);
    const suspected = 'waiting_deletions, held_deletions';
    const ofItems = `and collection = 'list_items'`;
    expect(await account.rowsOf(suspected, 'mirror._collections', ofItems)).toEqual(['1 0']);
  });

  it.each(['soft', 'hard'] as const)('has no pages any more: one under way writes nothing (%s)', async (deletes) => {
    const account = await twoLists({ deletes });
    await deleteAllBut(account, 'lists', lists(1));
    const { lastObs } = await account.storedScope('list_items', '2');
    const alsoInTransaction = (): never => {
      throw new Error('there is nothing to store');
    };
    const late = await account.page('list_items', items(3), { parent: '2', alsoInTransaction });
    expect(late).toEqual({ state: 'parent_deleted' });
    expect(await liveItems(account)).toEqual(OF_LIST_1);
    expect(await account.storedScope('list_items', '2')).toMatchObject({ lastObs });
    const scope = account.scope('list_items', '2');
    const suspect = { add: [{ key: 'i0', kind: 'pair' }], prove: [], withdraw: [] } as const;
    await account.mirror.recordSuspects(account.fence, scope, { ...suspect, withdrawOrdered: false }, 99);
    expect(await account.suspects('list_items', '2')).toEqual([]);
  });

  it.each(['soft', 'hard'] as const)('is read from the beginning when it is back (%s)', async (deletes) => {
    const account = await twoLists({ deletes });
    await account.page('list_items', items(2), { parent: '2' });
    const read = { memory: { frontier: 'i1' }, fullAt: new Date(), polledAt: new Date() };
    await account.note('list_items', read, '2');
    await deleteAllBut(account, 'lists', lists(1));
    await account.age(account.gracePeriodMs);
    await account.observe('lists', lists(1, 2));
    // A walk that began before the list was deleted would continue after deleted items.
    const late = account.observe('list_items', items(1), { parent: '2', obs: 4, after: 3 });
    await expect(late).rejects.toBeInstanceOf(Superseded);
    const scope = await account.storedScope('list_items', '2');
    expect(scope).toMatchObject({ fullAt: undefined, polledAt: undefined });
    expect(scope.memory).toEqual({});
    const due = `and due_at is not null and collection = 'list_items' and parent = '2'`;
    expect(await account.rowsOf('parent', 'mirror_sync.scope', due)).toEqual(['2']);
    await account.observe('list_items', items(2), { parent: '2' });
    expect(await liveItems(account)).toHaveLength(4);
  });

  it('is deleted in transactions of a bounded number of rows, its own row in the last one', async () => {
    const account = await twoLists({}, []);
    // By SQL: 60,000 items as pages would take minutes.
    const user = account.fence.userId;
    await account.page('list_items', items(1), { parent: '2' });
    await account.query(`
      insert into mirror.list_items (_user_id, list_id, id, _first_seen_at, _changed_at, _change_id, _hash, _raw)
      select _user_id, list_id, 'i' || nth, _first_seen_at, _changed_at, _change_id - nth, _hash, _raw
      from mirror.list_items, generate_series(1, 60000) as nth where _user_id = ${user};
      update mirror_sync.scope set live_rows = 60001 where _user_id = ${user} and collection = 'list_items';
      update mirror._collections set live_rows = 60001 where _user_id = ${user} and collection = 'list_items'`);
    expect(await deleteAllBut(account, 'lists', lists(1), { accept: true })).toMatchObject({
      deleted: 1,
      along: new Map([['list_items', 60_001]]),
    });
    expect(await logOf(account)).toEqual(['list_items 2 50000', 'list_items 2 10001', 'lists - 1']);
    expect(await liveItems(account)).toEqual([]);
  });
});
