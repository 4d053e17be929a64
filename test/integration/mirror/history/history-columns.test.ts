import { beforeEach, describe, expect, it } from 'vitest';
import { databaseForEach } from '../../../support/databases/migrated-database.ts';
import { lines } from '../../../support/mirror/lines.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

// These tests change tables by hand: each has a database of its own.
const own = databaseForEach();
let account: MirroredAccount;
beforeEach(async () => {
  account = await MirroredAccount.make(own, '1', { gracePeriodMs: 0 });
});

it('columns for new fields leave alone columns that were added or dropped by hand in history', async () => {
  await account.query('alter table mirror.lists_history add column size text');
  await account.page('lists', '[{"list_id":1,"size":1,"name":"a"}]');
  await account.query('drop view mirror.lists_versions');
  await account.query('alter table mirror.lists_history drop column name');
  await account.page('lists', '[{"list_id":1,"size":2,"name":"b"}]');
  await account.page('lists', '[{"list_id":1,"size":2,"name":"b","more":true}]');
  const [column] = await lines(account, `select column_name from mirror.columns where field = 'size'`);
  expect(column).toMatch(/^size_[0-9a-f]{6}$/);
  // The dropped view is back with the next column.
  const versions = `select ${column}, name, more from mirror.lists_versions order by _change_id`;
  expect(await lines(account, versions)).toEqual(['1 - -', '2 - -', '2 b true']);
});

describe('what is archived', () => {
  it('leaves out columns that have another or a narrower type in history, or are computed there', async () => {
    await account.page('lists', '[{"list_id":1,"size":12.5,"name":"a","note":"mine","rank":1}]');
    await account.query(`
      drop view mirror.lists_versions;
      alter table mirror.lists_history alter column name type jsonb using null;
      alter table mirror.lists_history alter column size type numeric(3, 1);
      alter table mirror.lists_history drop column note;
      alter table mirror.lists_history add column note text generated always as ('computed') stored`);
    await account.page('lists', '[{"list_id":1,"size":1234.5,"name":"b","note":"mine","rank":2}]');
    await account.page('lists', '[{"list_id":1,"size":7,"name":"c","note":"mine","rank":3}]');
    const archived = `select size, name, note, rank, _raw ->> 'size' from mirror.lists_history order by _change_id`;
    expect(await lines(account, archived)).toEqual(['- - computed 1 12.5', '- - computed 2 1234.5']);
  });

  it('leaves out a column that was dropped from both, at any position', async () => {
    const tables = ['lists', 'lists_history'] as const;
    const width = async (table: string): Promise<number> => {
      const widest = `select max(attnum) from pg_attribute where attrelid = 'mirror.${table}'::regclass`;
      return Number((await lines(account, widest))[0]);
    };
    const widest = Math.max(await width('lists'), await width('lists_history'));
    for (const table of tables) {
      for (let at = await width(table); at <= widest; at += 1) {
        await account.query(`alter table mirror.${table} add column theirs_${at} text`);
      }
      await account.query(`alter table mirror.${table} drop column theirs_${widest}`);
    }
    expect(await width('lists')).toBe(await width('lists_history'));
    await account.page('lists', '[{"list_id":1,"name":"a"}]');
    await account.page('lists', '[{"list_id":1,"name":"b"}]');
    expect(await account.query('select name from mirror.lists_history')).toEqual([{ name: 'a' }]);
  });
});

it.each(['versions', 'live'])(
  'the view of versions is left alone if it was rebuilt by hand with its columns: %s',
  async (suffix) => {
    const view = `mirror.watchlist_${suffix}`;
    const [text] = await lines(account, `select rtrim(pg_get_viewdef('${view}'), ';')`);
    await account.query(`
      create or replace view ${view} as select * from (${text}) as t where id <> 'hidden'`);
    await account.page('watchlist', '[{"id":"a","score":1},{"id":"hidden","score":1}]');
    expect(await lines(account, `select id from ${view}`)).toEqual(['a']);
    const score = `select 1 from pg_attribute where attrelid = '${view}'::regclass and attname = 'score'`;
    expect(await lines(account, score)).toEqual([]);
    expect(await lines(account, 'select score from mirror.watchlist')).toEqual(['1', '1']);
  },
);
