import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { inOwnDatabase, openTestDatabase } from '../../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

const columnTypes = (account: MirroredAccount, table: string) =>
  account.query<{ name: string; type: string }>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = 'mirror.${table}'::regclass and attnum > 0 and not attisdropped and attname not like '\\_%'
     order by attnum`,
  );

describe('columns for new fields', () => {
  it('come with the page that first has the field, and have the type of its values', async () => {
    const account = await newAccount();
    await account.page(
      'bulk_research_jobs',
      `[{"bulk_job_id":1,"name":"n","created_at":"2026-01-02","rowCount":5,"rate":0.5,"done":false,"parts":[1],"nothing":null},
        {"bulk_job_id":2,"order":"x","ctid":1,"_raw":2,"":3,"updated_at":"not yet","owner_id":null}]`,
    );
    const columns = await columnTypes(account, 'bulk_research_jobs');
    const suffixed = /_[0-9a-f]{6}$/;
    expect(
      columns.filter(({ name }) => !suffixed.test(name)).map(({ name, type }) => `${name} ${type}`),
    ).toEqual([
      'bulk_job_id bigint',
      'created_at timestamp with time zone',
      'done boolean',
      'name text',
      'parts jsonb',
      'rate numeric',
      'updated_at text',
      'row_count bigint',
    ]);
    expect(columns.filter(({ name }) => /^(order|ctid|raw|field)_[0-9a-f]{6}$/.test(name))).toHaveLength(4);
    const [row] = await account.query(
      `select name, created_at, row_count, rate, done, parts from mirror.bulk_research_jobs_live where bulk_job_id = 1`,
    );
    expect(row).toEqual({
      name: 'n',
      created_at: new Date('2026-01-02T00:00:00Z'),
      row_count: '5',
      rate: '0.5',
      done: false,
      parts: [1],
    });
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
    const rows = await account.query(
      `select started_at at time zone 'UTC' is not null as at, part_id, n, status, _raw ->> 'part_id' as raw
       from mirror.research_jobs where _user_id = ${account.fence.userId} order by job_id`,
    );
    expect(rows).toEqual([
      { at: true, part_id: '1', n: '1', status: null, raw: '1' },
      { at: false, part_id: null, n: null, status: null, raw: 'x' },
      { at: false, part_id: null, n: null, status: null, raw: '1.5' },
      { at: false, part_id: null, n: null, status: null, raw: '99999999999999999999' },
      { at: false, part_id: '5', n: null, status: null, raw: '5.0' },
    ]);
    expect(
      await account.query(
        `select field, conflicts from mirror.columns where collection = 'research_jobs' and conflicts > 0 order by 1`,
      ),
    ).toEqual([
      { field: 'n', conflicts: '1' },
      { field: 'part_id', conflicts: '3' },
      { field: 'started_at', conflicts: '2' },
      { field: 'status', conflicts: '1' },
    ]);
    expect(
      await account.query(
        `select field_conflicts from mirror.data_quality where _user_id = ${account.fence.userId}`,
      ),
    ).toEqual([{ field_conflicts: '7' }]);
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
    expect(
      await account.query(
        `select to_char(seen_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as at from mirror.watchlist order by id`,
      ),
    ).toEqual([{ at: '2026-01-02 01:04:05.123456' }, { at: '2026-01-02 03:04:05.000000' }]);
    await tokyo.close();
  });

  it('are 300 a table at most; the rest stays in _raw', async () => {
    await inOwnDatabase(async (own) => {
      const account = await MirroredAccount.make(own, '1');
      const fields = Array.from({ length: 400 }, (_, index) => `"f${index}":${index}`);
      await account.page('lists', `[{"list_id":1,${fields.join()}}]`);
      await account.page('lists', `[{"list_id":2,${fields.join()},"late":1}]`);
      expect(
        await account.query(
          `select count(*) from pg_attribute where attrelid = 'other.lists'::regclass and attnum > 0`,
        ),
      ).toEqual([{ count: '300' }]);
      expect(
        await account.query(
          `select _raw ->> 'f399' as f, _raw ->> 'late' as late from other.lists order by list_id`,
        ),
      ).toEqual([
        { f: '399', late: null },
        { f: '399', late: '1' },
      ]);
      expect(
        await account.query(`select 1 from other.columns where field = 'late' and column_name is null`),
      ).toHaveLength(1);
    });
  });
});

describe('the view of live rows', () => {
  it('gets new columns in place: grants, comments and views upon it survive', async () => {
    await inOwnDatabase(async (own) => {
      const account = await MirroredAccount.make(own, '1');
      const role = `reader_${new URL(own.url).pathname.slice(-8)}`;
      await account.query(`create role ${role}`);
      await account.query(`grant select on other.list_items_live to ${role}`);
      await account.query(`create view public.mine as select _key, _list_key from other.list_items_live`);
      await account.query(`comment on view other.list_items_live is 'ours'`);
      await account.page('lists', '[{"list_id":4}]');
      await account.page('list_items', '[{"id":"a:b","company":"Acme"}]', { parent: '4' });
      expect(await account.query(`select _key, _list_key, company from other.list_items_live`)).toEqual([
        { _key: '1:4:a:b', _list_key: '1:4', company: 'Acme' },
      ]);
      expect(await account.query('select * from public.mine')).toEqual([
        { _key: '1:4:a:b', _list_key: '1:4' },
      ]);
      expect(
        await account.query(
          `select has_table_privilege('${role}', 'other.list_items_live', 'select') as may,
             obj_description('other.list_items_live'::regclass) as comment`,
        ),
      ).toEqual([{ may: true, comment: 'ours' }]);
      expect(
        await account.query(
          `select attrelid::regclass::text as view, col_description(attrelid, attnum) as comment from pg_attribute
           where attname = 'company' and attrelid::regclass::text ~ '(live|versions)$' order by 1`,
        ),
      ).toEqual([
        { view: 'other.list_items_live', comment: 'Field "company" of the items.' },
        { view: 'other.list_items_versions', comment: 'Field "company" of the items.' },
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
      expect(
        await raw.query(
          `select field, column_name, type from other.columns where field in ('at', 'size') order by 1`,
        ),
      ).toEqual([
        { field: 'at', column_name: null, type: 'timestamptz' },
        { field: 'size', column_name: null, type: 'numeric' },
      ]);
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
      expect(
        await account.query(
          `select count(*) filter (where size = (_raw ->> 'size')::numeric) as sizes,
             count(*) filter (where at = (_raw ->> 'at')::timestamp at time zone 'UTC') as times
           from ${table} where job_id <> 7`,
        ),
      ).toEqual([{ sizes: '1200', times: '1199' }]);
      expect(await account.query(`select size from ${table} where job_id = 7`)).toEqual([{ size: null }]);
      expect(await account.query(`select conflicts from other.columns where field = 'size'`)).toEqual([
        { conflicts: '1' },
      ]);
      expect(await account.mirror.backfill(account.fence)).toBe(false);
    });
  });
});
