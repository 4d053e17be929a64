import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { inOwnDatabase, openTestDatabase } from '../../../support/databases/migrated-database.ts';
import { lines } from '../../../support/mirror/lines.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

describe('columns for new fields', () => {
  it('come with the page that first has the field, and have the type of its values', async () => {
    const account = await newAccount();
    await account.page(
      'bulk_research_jobs',
      `[{"bulk_job_id":1,"name":"n","created_at":"2026-01-02","rowCount":5,"rate":0.5,"done":false,"parts":[1],"nothing":null},
        {"bulk_job_id":2,"order":"x","ctid":1,"_raw":2,"":3,"updated_at":"not yet","owner_id":null}]`,
    );
    const columns = await lines(
      account,
      `select attname, format_type(atttypid, atttypmod) from pg_attribute where attnum > 0 and not attisdropped
       and attrelid = 'mirror.bulk_research_jobs'::regclass and attname not like '\\_%' order by attnum`,
    );
    expect(columns.filter((each) => !/_[0-9a-f]{6} /.test(each))).toEqual([
      'bulk_job_id bigint',
      'created_at timestamp with time zone',
      'done boolean',
      'name text',
      'parts jsonb',
      'rate numeric',
      'updated_at text',
      'row_count bigint',
    ]);
    expect(columns.filter((each) => /^(order|ctid|raw|field)_[0-9a-f]{6} /.test(each))).toHaveLength(4);
    const values = `select name, created_at at time zone 'UTC' = '2026-01-02', row_count, rate, done, parts
      from mirror.bulk_research_jobs_live where bulk_job_id = 1`;
    expect(await lines(account, values)).toEqual(['n true 5 0.5 false 1']);
  });

  it('are NULL for a value that does not fit, which is counted and whole in _raw', async () => {
    const account = await newAccount();
    await account.page(
      'research_jobs',
      '[{"job_id":1,"started_at":"2026-01-02T03:04:05.123456+02:00","part_id":1,"n":1}]',
    );
    const result = await account.page(
      'research_jobs',
      `[{"job_id":2,"started_at":1767322245,"part_id":"x","n":"1"},{"job_id":3,"started_at":"2026-02-30","part_id":1.5},
        {"job_id":4,"part_id":99999999999999999999,"status":7},{"job_id":5,"part_id":5.0}]`,
    );
    expect(result).toMatchObject({ counts: { inserted: 4 } });
    const where = `where _user_id = ${account.fence.userId}`;
    const values = `select started_at is not null, part_id, n, status, _raw ->> 'part_id' as raw from mirror.research_jobs ${where} order by job_id`;
    expect(await lines(account, values)).toEqual([
      'true 1 1 - 1',
      'false - - - x',
      'false - - - 1.5',
      'false - - - 99999999999999999999',
      'false 5 - - 5.0',
    ]);
    const conflicts = `select field, conflicts from mirror.columns where collection = 'research_jobs' and conflicts > 0 order by 1`;
    expect(await lines(account, conflicts)).toEqual(['n 1', 'part_id 3', 'started_at 2', 'status 1']);
    expect(await lines(account, `select field_conflicts from mirror.data_quality ${where}`)).toEqual(['7']);
  });

  it('keep microseconds and zones of times', async () => {
    const { database, fence } = await newAccount();
    // Sessions in another zone, as a database or a role may set.
    await sql`alter database ${sql.id(new URL(database.url).pathname.slice(1))} set timezone = 'Asia/Tokyo'`.execute(
      database.kysely,
    );
    const tokyo = await openTestDatabase(database.url);
    const account = await MirroredAccount.make({ ...database, ...tokyo }, fence.userId);
    await account.page(
      'watchlist',
      '[{"id":"a","seen_at":"2026-01-02T03:04:05.123456+02:00"},{"id":"b","seen_at":"2026-01-02 03:04:05"}]',
    );
    const seen = `select to_char(seen_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') from mirror.watchlist order by id`;
    expect(await lines(account, seen)).toEqual(['2026-01-02 01:04:05.123456', '2026-01-02 03:04:05.000000']);
    await tokyo.close();
  });

  it('are at most 300 per table; the rest stays in _raw', async () => {
    await inOwnDatabase(async (own) => {
      const account = await MirroredAccount.make(own, '1');
      const fields = Array.from({ length: 400 }, (_, index) => `"f${index}":${index}`);
      await account.page('lists', `[{"list_id":1,${fields.join()}}]`);
      await account.page('lists', `[{"list_id":2,${fields.join()},"late":1}]`);
      const count = `select count(*) from pg_attribute where attrelid = 'other.lists'::regclass and attnum > 0`;
      expect(await lines(account, count)).toEqual(['300']);
      const raw = `select _raw ->> 'f399' as f, _raw ->> 'late' as late from other.lists order by list_id`;
      expect(await lines(account, raw)).toEqual(['399 -', '399 1']);
      const late = `select column_name from other.columns where field = 'late'`;
      expect(await lines(account, late)).toEqual(['-']);
    });
  });
});

describe('the view of live rows', () => {
  it('gets new columns in place: grants, comments and views on it survive', async () => {
    await inOwnDatabase(async (own) => {
      const account = await MirroredAccount.make(own, '1');
      const role = `reader_${new URL(own.url).pathname.slice(-8)}`;
      await account.query(`create role ${role}`);
      await account.query(`grant select on other.list_items_live to ${role}`);
      await account.query(`create view public.mine as select _key, _list_key from other.list_items_live`);
      await account.query(`comment on view other.list_items_live is 'ours'`);
      await account.page('lists', '[{"list_id":4}]');
      await account.page('list_items', '[{"id":"a:b","company":"Acme"}]', { parent: '4' });
      const row = 'select _key, _list_key, company from other.list_items_live';
      expect(await lines(account, row)).toEqual(['1:4:a:b 1:4 Acme']);
      expect(await lines(account, 'select * from public.mine')).toEqual(['1:4:a:b 1:4']);
      const kept = `select has_table_privilege('${role}', 'other.list_items_live', 'select'),
        obj_description('other.list_items_live'::regclass)`;
      expect(await lines(account, kept)).toEqual(['true ours']);
      const comments = `select attrelid::regclass::text, col_description(attrelid, attnum) from pg_attribute
        where attname = 'company' and attrelid::regclass::text ~ '(live|versions)$' order by 1`;
      expect(await lines(account, comments)).toEqual([
        'other.list_items_live Field "company" of the items.',
        'other.list_items_versions Field "company" of the items.',
      ]);
      await account.query(`drop owned by ${role}`);
      await account.query(`drop role ${role}`);
    });
  });
});

describe('MIRROR_SCHEMA_DRIFT', () => {
  it('raw keeps new fields in _raw; add fills their columns later, batch by batch, also after a crash', async () => {
    await inOwnDatabase(async (own) => {
      const raw = await MirroredAccount.make(own, '1', { schemaDrift: 'raw' });
      const items = Array.from(
        { length: 1200 },
        (_, id) => `{"job_id":${id},"at":"2026-01-02 00:00:0${id % 10}","size":${id === 7 ? '"big"' : id}}`,
      );
      await raw.page('research_jobs', `[${items.join()}]`);
      const table = 'other.research_jobs';
      const known = `select field, column_name, type from other.columns where field in ('at', 'size') order by 1`;
      expect(await lines(raw, known)).toEqual(['at - timestamptz', 'size - numeric']);
      const account = await MirroredAccount.make(own, '1');
      await account.page('research_jobs', '[{"job_id":5000,"size":5}]');
      const stamps = `select job_id, _change_id, _changed_at from ${table} order by job_id`;
      const before = await account.query(stamps);
      expect(await account.mirror.backfill(account.fence)).toBe(true);
      const restarted = await MirroredAccount.make(own, '1');
      let batches = 0;
      while (await restarted.mirror.backfill(account.fence)) batches += 1;
      expect(batches).toBeGreaterThan(4);
      expect(await account.query(stamps)).toEqual(before);
      const filled = `select count(*) filter (where size = (_raw ->> 'size')::numeric) as sizes,
          count(*) filter (where at = (_raw ->> 'at')::timestamp at time zone 'UTC') as times
        from ${table} where job_id <> 7`;
      expect(await lines(account, filled)).toEqual(['1200 1199']);
      expect(await lines(account, `select size from ${table} where job_id = 7`)).toEqual(['-']);
      const conflicts = `select conflicts from other.columns where field = 'size'`;
      expect(await lines(account, conflicts)).toEqual(['1']);
      expect(await account.mirror.backfill(account.fence)).toBe(false);
    });
  });
});
