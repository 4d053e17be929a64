import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { COLLECTION_NAMES } from '../../../src/model/collections.ts';
import { createTestAccount, createFrozenAccount, type TestAccount } from '../../support/sync/read-account.ts';

let account: TestAccount;
afterEach(() => account.close());

const JOBS = `mirror.research_jobs`;

describe('rows changed by hand', () => {
  it('are found by the first whole walk of a scope whose counter says that it has none', async () => {
    account = await createFrozenAccount({ order: 'unordered' });
    await account.read('research_jobs', 'rows');
    // Two rows under new keys, as if they had come an hour ago.
    await account.query(`
      insert into ${JOBS} select (jsonb_populate_record(t, jsonb_build_object('job_id', '9000' || job_id,
        '_changed_at', now() - interval '1 hour'))).* from ${JOBS} as t order by job_id limit 2`);
    await account.query(`update mirror_sync.scope set live_rows = 0, full_at = null, memory = '{}'`);
    await account.reopen();
    await account.read('research_jobs', 'rows');
    expect(await account.query('select 1 from mirror_sync.candidate')).toHaveLength(2);
  });

  it('are deleted by two full passes if their list does not exist, and nothing is complete until then', async () => {
    account = await createTestAccount({ itemsPerList: 3 }, systemClock, { MIRROR_SETTLE: '1s' });
    const complete = `select complete_as_of as at from mirror.freshness where collection = 'list_items'`;
    const pass = async (): Promise<void> => {
      await account.read('lists', 'full');
      await account.read('list_items', 'full');
    };
    await pass();
    const [list] = await account.query<{ id: string }>('select min(list_id) as id from mirror.lists');
    await account.sandbox.control.mutate({ op: 'delete', collection: 'lists', id: list?.id ?? '' });
    await pass();
    const gone = `from mirror.list_items where list_id in (${list?.id}, 90001)`;
    expect(await account.query(`select 1 ${gone} and _deleted_at is null`)).toEqual([]);
    await account.query(`update mirror.list_items set _deleted_at = null where list_id = ${list?.id}`);
    await account.query(`
      insert into mirror.list_items select (jsonb_populate_record(t, '{"list_id":90001}')).*
      from mirror.list_items as t where list_id = ${list?.id}`);
    const before = await account.query(complete);

    await pass();
    expect(await account.query(complete)).toEqual(before);
    expect(await account.query(`select 1 ${gone} and _deleted_at is null`)).toHaveLength(6);
    await pass();
    expect(await account.query(`select 1 ${gone} and _deleted_at is null`)).toEqual([]);
    expect(await account.query(complete)).not.toEqual(before);
  });

  it('are recounted by a full reading of each kind of collection', async () => {
    account = await createFrozenAccount();
    const names = COLLECTION_NAMES;
    for (const name of names) await account.read(name, 'full');
    const counters = (): Promise<unknown> =>
      account.query(`
        select collection, '*' as parent, live_rows, deleted_rows from mirror._collections
        union all select collection, parent, live_rows, 0 from mirror_sync.scope order by 1, 2`);
    const right = await counters();
    await account.query(`update mirror._collections set live_rows = live_rows + 7, deleted_rows = 3`);
    await account.query(`update mirror_sync.scope set live_rows = greatest(0, live_rows - 2)`);
    for (const name of names) await account.current.store.recount(name);
    expect(await counters()).toEqual(right);

    // Rows marked deleted and rows removed: both are back when they were read, and counted once.
    await account.query(`update ${JOBS} set _deleted_at = now() - interval '1 hour' where job_id % 3 = 0`);
    await account.query(`delete from ${JOBS} where job_id % 3 = 1`);
    await account.query(`delete from mirror.account`);
    await account.query(`update mirror.list_items set _deleted_at = now() - interval '1 hour'`);
    for (const name of names) await account.read(name, 'full');
    expect(await counters()).toEqual(right);
  });
});
