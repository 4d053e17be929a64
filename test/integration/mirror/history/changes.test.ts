import { expect, it } from 'vitest';
import { accountsWithHistory } from '../../../support/mirror/accounts-with-history.ts';
import { lines } from '../../../support/mirror/lines.ts';
import type { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

const scene = accountsWithHistory();

const changes = (account: MirroredAccount, collection: string) =>
  lines(
    account,
    `select key, op, field, before::text, after::text from mirror.changes
     where _user_id = ${account.fence.userId} and collection = '${collection}' order by change_id, field`,
  );

it('has a key for each table: its key columns; the account’s is its user', async () => {
  await scene.open(scene.first);
  await scene.first.page('account', '[{"user_id":1,"credits":5}]');
  await scene.first.page('account', '[{"user_id":1,"credits":4}]');
  await scene.first.page('lists', '[{"list_id":7}]');
  await scene.first.page('list_items', '[{"id":"a:b"}]', { parent: '7' });
  expect(await changes(scene.first, 'account')).toEqual(['1 insert - - -', '1 update credits 5 4']);
  expect(await changes(scene.first, 'lists')).toEqual(['7 insert - - -']);
  expect(await changes(scene.first, 'list_items')).toEqual(['7:a:b insert - - -']);
  expect(await changes(scene.second, 'account')).toEqual([]);
});

it('reports no insert and no fields for a row whose earlier version is not kept', async () => {
  await scene.first.page('research_jobs', '[{"job_id":1,"n":1}]');
  await scene.first.page('research_jobs', '[{"job_id":1,"n":2}]');
  await scene.first.page('research_jobs', '[{"job_id":1,"n":3}]');
  await scene.first.query('delete from mirror.research_jobs_history where _raw @> \'{"n":1}\'');
  expect(await changes(scene.first, 'research_jobs')).toEqual(['1 update - - -', '1 update n 2 3']);
});

it('shows nothing of a table whose rows or versions are hidden from the reader', async () => {
  const collections = () =>
    scene.database.db.transaction(async (trx) => {
      await trx.sql`set local role mirror_reader`;
      const { rows } = await trx.sql`
        select distinct collection from mirror.changes where _user_id = 1 order by 1`;
      return rows;
    });
  expect(await collections()).toHaveLength(4);
  await scene.first.query('revoke select on mirror.research_jobs_history from mirror_reader');
  await scene.first.query('revoke select on mirror.lists from mirror_reader');
  await expect(collections()).rejects.toThrow('permission denied');
  // The view leaves out what its owner's rights do not cover.
  await scene.first.query('alter view mirror.changes reset (security_invoker)');
  expect(await collections()).toEqual([{ collection: 'account' }, { collection: 'list_items' }]);
});
