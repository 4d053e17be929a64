import { beforeEach, describe, expect, it } from 'vitest';
import { compareItems } from '../../../../src/operate/compare-rows.ts';
import { createMigratedDatabase, databaseForEach } from '../../../support/databases/migrated-database.ts';
import { lines } from '../../../support/mirror/lines.ts';
import { itemsOf, MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';

const own = databaseForEach(() => createMigratedDatabase('other'));
let account: MirroredAccount;
beforeEach(async () => {
  account = await MirroredAccount.make(own, '1');
});

const domains = (table: string) => account.rowsOf('_domain', `other.${table}`, 'order by _change_id');

/** What `verify` reports about these jobs. */
const differences = (jobs: string): Promise<unknown> =>
  compareItems(own.db, account.scope('research_jobs'), itemsOf('research_jobs', jobs), {
    ignore: new Set(),
    exclude: new Set(),
  });

describe('the domain of a row', () => {
  it('comes from the first field that has one, and is in the versions', async () => {
    const page = `[{"job_id":1,"domain":"Acme.example"},{"job_id":2,"domain":"no","url":"http://www.b.example/x"},
      {"job_id":3,"domain":7,"website":null},{"job_id":4,"\\ud800domain":"a.example","\\ufffddomain":"a.example"}]`;
    await account.page('research_jobs', page);
    expect(await domains('research_jobs')).toEqual(['acme.example', 'b.example', '-', '-']);
    expect(await differences(page)).toEqual([]);
    await account.page('research_jobs', '[{"job_id":1,"domain":"c.example"}]');
    expect(await domains('research_jobs_history')).toEqual(['acme.example']);
    // A change by hand: verify reports it.
    await account.query(`update other.research_jobs set _domain = 'x.example' where job_id = 2`);
    expect(await differences(page)).toMatchObject([
      { key: '1' },
      { key: '2', fields: [{ name: '_domain', source: 'b.example', mirror: 'x.example' }] },
    ]);
  });

  it('is filled in older rows and versions, without a change of them', async () => {
    await account.page('watchlist', '[{"id":"a","url":"a.example"},{"id":"b","url":null}]');
    await account.page('watchlist', '[{"id":"a","url":"b.example"}]');
    const stored = () =>
      account.query(`select _change_id, _changed_at, _hash, _domain from other.watchlist
        union all select _change_id, _changed_at, _hash, _domain from other.watchlist_history order by 1`);
    const before = await stored();
    // As the migration finds it.
    await account.query('update other.watchlist set _domain = null');
    await account.query('update other.watchlist_history set _domain = null');
    await account.query(`insert into other_sync.backfill (_user_id, collection, field, done_through, until)
      select _user_id, 'watchlist', chr(65533) || 'domain', 0, change_id from other_sync.account`);
    while (await account.mirror.backfill(account.fence));
    expect(await stored()).toEqual(before);
    expect(before).toHaveLength(3);
  });

  it('is removed with its field if that is never to be stored', async () => {
    const page = '[{"job_id":1,"domain":"a.example","url":"b.example"}]';
    await account.page('research_jobs', page);
    const excludeFields = { ...noFields(), research_jobs: ['domain'] };
    const after = await MirroredAccount.make(own, '1', { excludeFields });
    await after.page('research_jobs', page, { obs: 5, after: 1 });
    expect(await domains('research_jobs')).toEqual(['b.example']);
  });
});

describe('mirror.companies', () => {
  it('has one row per domain and account, over jobs, list items and watchlist', async () => {
    const companies = () =>
      lines(
        account,
        `select _user_id, domain, research_jobs, list_items, lists, watched, last_job_status,
          case when research_jobs > 0 then (last_researched_at at time zone 'UTC')::text end as at, latest_score
        from other.companies order by _user_id, domain`,
      );
    const other = await MirroredAccount.make(own, '2');
    await account.page('lists', '[{"list_id":1},{"list_id":2}]');
    const items = '[{"id":"i","domain":"a.example"},{"id":"j","url":"https://b.example"}]';
    await account.page('list_items', items, { parent: '1' });
    await account.page('list_items', '[{"id":"i","domain":"b.example","score":3}]', { parent: '2' });
    for (const each of [account, other]) await each.page('watchlist', '[{"id":"w","website":"a.example"}]');
    expect(await companies()).toEqual([
      '1 a.example 0 1 1 true - - -',
      '1 b.example 0 2 2 false - - 3',
      '2 a.example 0 0 0 true - - -',
    ]);
    await account.page(
      'research_jobs',
      `[{"job_id":9,"domain":"b.example","status":"completed","score":0.50,"completed_at":"2026-01-02T03:04:05Z"},
        {"job_id":10,"domain":"b.example","status":"queued","created_at":"2026-02-02"}]`,
    );
    expect((await companies())[1]).toBe('1 b.example 2 2 2 false queued 2026-02-02 00:00:00 3');
    await account.page('research_jobs', '[{"job_id":10,"domain":"a.example","status":"queued"}]');
    expect((await companies())[1]).toBe('1 b.example 1 2 2 false completed 2026-01-02 03:04:05 0.50');
  });

  it('keeps its grants and comments when columns come, and hides what its reader may not read', async () => {
    await account.query(`comment on view other.companies is 'Ours.'`);
    await account.query('revoke select on other.watchlist from other_reader');
    await account.page('watchlist', '[{"id":"w","website":"a.example"}]');
    const job = '[{"job_id":1,"domain":"b.example","score":1,"updated_at":"2026-01-01"}]';
    await account.page('research_jobs', job);
    const seen = await own.db.transaction(async (trx) => {
      await trx.sql`set local role other_reader`;
      return (await trx.sql`select domain, latest_score, last_researched_at from other.companies`).rows;
    });
    const at = new Date('2026-01-01T00:00:00Z');
    expect(seen).toEqual([{ domain: 'b.example', latest_score: '1', last_researched_at: at }]);
    expect(await lines(account, `select obj_description('other.companies'::regclass)`)).toEqual(['Ours.']);
  });
});
