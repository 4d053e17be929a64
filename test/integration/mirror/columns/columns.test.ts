import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { registerOnly } from '../../../../src/mirror/table-columns.ts';
import { tableOf } from '../../../../src/mirror/table.ts';
import { databaseForEach, openTestDatabase } from '../../../support/databases/migrated-database.ts';
import { DbWhere } from '../../../support/mirror/db-where.ts';
import { lines } from '../../../support/mirror/lines.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

const own = databaseForEach();
const newAccount = (user = '1', options = {}) => MirroredAccount.make(own, user, options);
const RAW = { schemaDrift: 'raw' } as const;

const fillAll = async (account: MirroredAccount): Promise<void> => {
  while (await account.mirror.backfill(account.fence));
};

/** Keeps a table locked. @returns what ends the transaction */
async function lock(statement: string): Promise<() => Promise<void>> {
  const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holder = own.db.transaction(async (trx) => {
    await trx.raw(statement);
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  return () => {
    release.resolve();
    return holder;
  };
}

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
    expect(columns.filter((each) => !/_[0-9a-f]{6} /.test(each)).join(', ')).toBe(
      'bulk_job_id bigint, created_at timestamp with time zone, done boolean, name text, parts jsonb, ' +
        'rate numeric, updated_at text, row_count bigint',
    );
    expect(columns.filter((each) => /^(order|ctid|raw|field)_[0-9a-f]{6} /.test(each))).toHaveLength(4);
    const values = `name, created_at at time zone 'UTC' = '2026-01-02', row_count, rate, done, parts`;
    const first = await account.rowsOf(values, 'mirror.bulk_research_jobs_live', 'and bulk_job_id = 1');
    expect(first).toEqual(['n true 5 0.5 false 1']);
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
    const values = `started_at is not null, part_id, n, status, _raw ->> 'part_id' as raw`;
    expect(await account.rowsOf(values, 'mirror.research_jobs', 'order by job_id')).toEqual([
      'true 1 1 - 1',
      'false - - - x',
      'false - - - 1.5',
      'false - - - 99999999999999999999',
      'false 5 - - 5.0',
    ]);
    const conflicts = `select field, conflicts from mirror.columns where collection = 'research_jobs' and conflicts > 0 order by 1`;
    expect(await lines(account, conflicts)).toEqual(['n 1', 'part_id 3', 'started_at 2', 'status 1']);
    expect(await account.rowsOf('field_conflicts', 'mirror.data_quality')).toEqual(['7']);
  });

  it('keep microseconds and zones of times', async () => {
    const { fence } = await newAccount();
    // Sessions in another zone, as a database or a role may set.
    await own.db.raw(`alter database ${new URL(own.url).pathname.slice(1)} set timezone = 'Asia/Tokyo'`);
    const tokyo = await openTestDatabase(own.url);
    const account = await MirroredAccount.make({ ...own, ...tokyo }, fence.userId);
    await account.page(
      'watchlist',
      '[{"id":"a","seen_at":"2026-01-02T03:04:05.123456+02:00"},{"id":"b","seen_at":"2026-01-02 03:04:05"}]',
    );
    const seen = `to_char(seen_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')`;
    expect(await account.rowsOf(seen, 'mirror.watchlist')).toEqual([
      '2026-01-02 01:04:05.123456',
      '2026-01-02 03:04:05.000000',
    ]);
    await tokyo.close();
  });

  it('keep their name and content if they were added by hand', async () => {
    const account = await newAccount();
    await account.query(`alter table mirror.research_jobs add column stage integer default 5`);
    await account.page('research_jobs', '[{"job_id":1,"stage":"late"}]');
    const [name] = await lines(account, `select column_name from mirror.columns where field = 'stage'`);
    expect(name).toMatch(/^stage_[0-9a-f]{6}$/);
    expect(await account.rowsOf(`stage, ${name}`, 'mirror.research_jobs')).toEqual(['5 late']);
  });

  it('are no longer written if they were dropped or changed by hand, and pages go on', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[{"job_id":1,"gone":"a","bent":1,"n":1}]');
    await account.query(`
      alter table mirror.research_jobs drop column gone cascade, alter column n type text;
      drop view if exists mirror.research_jobs_live;
      alter table mirror.research_jobs alter column bent type text`);
    const outcomes = ['inserted'];
    const second = '[{"job_id":2,"gone":"b","bent":2,"n":3}]';
    expect(await account.page('research_jobs', second)).toMatchObject({ outcomes });
    const stored = await account.rowsOf(`bent, _raw ->> 'gone'`, 'mirror.research_jobs', 'and job_id = 2');
    expect(stored).toEqual(['- b']);
    await account.page('research_jobs', '[{"job_id":3,"brand_new":1}]');
    const third = await account.rowsOf('_key, brand_new', 'mirror.research_jobs_live', 'and job_id = 3');
    expect(third).toEqual([`${account.fence.userId}:3 1`]);
  });
});

describe('columns of several processes', () => {
  it('are added once if processes see the field at the same time', async () => {
    const accounts = await Promise.all([newAccount('1'), newAccount('2')]);
    const pages = await Promise.all(
      accounts.map((account) => account.page('research_jobs', '[{"job_id":1,"together":"x"}]')),
    );
    expect(pages).toMatchObject([{ outcomes: ['inserted'] }, { outcomes: ['inserted'] }]);
    const together = await lines(accounts[0], 'select _user_id, together from mirror.research_jobs order by 1');
    expect(together).toEqual(['1 x', '2 x']);
  });

  it('are written once another process has added them for a field that stayed in _raw', async () => {
    const one = await newAccount('1', RAW);
    await one.page('research_jobs', '[{"job_id":1,"shade":"dark"}]');
    const other = await newAccount('2');
    await other.page('research_jobs', '[{"job_id":1}]');
    await fillAll(one);
    await one.page('research_jobs', '[{"job_id":2,"shade":"light"}]');
    expect(await one.rowsOf('shade', 'mirror.research_jobs', 'order by job_id')).toEqual(['dark', 'light']);
  });

  it('wait while the table is locked: pages go on, and the column is filled later', async () => {
    const account = await newAccount();
    const release = await lock('select 1 from mirror.research_jobs');
    const first = await account.page('research_jobs', '[{"job_id":1,"colour":"red"},{"job_id":2}]');
    expect(first).toMatchObject({ outcomes: ['inserted', 'inserted'] });
    await release();
    await account.page('research_jobs', '[{"job_id":3,"colour":"blue"}]');
    await account.page('research_jobs', '[{"job_id":4,"colour":"green"}]');
    const stamps = () => account.rowsOf('job_id, _change_id, _changed_at::text', 'mirror.research_jobs');
    const before = await stamps();
    await fillAll(account);
    const colours = await account.rowsOf('job_id, colour', 'mirror.research_jobs');
    expect(colours).toEqual(['1 red', '2 -', '3 blue', '4 green']);
    expect(await stamps()).toEqual(before);
  });

  it('are filled in rows that another process wrote just before without the column', async () => {
    const without = await newAccount('1', RAW);
    const happens = async () => {
      await registerOnly(own.db, tableOf('mirror', 'research_jobs'), new Map([['colour', ['1']]]));
      await without.page('research_jobs', '[{"job_id":1,"colour":"red"}]');
    };
    const db = new DbWhere(own.db, { once: { when: 'before', statement: 'alter table', happens } });
    const maker = await MirroredAccount.make({ ...own, db }, '2');
    await maker.page('research_jobs', '[{"job_id":2,"colour":"blue"}]');
    await fillAll(without);
    const colours = 'select job_id, colour from mirror.research_jobs order by job_id';
    expect(await lines(without, colours)).toEqual(['1 red', '2 blue']);
  });

  it('wait longer for another process that adds columns than for readers of the table', async () => {
    const account = await newAccount();
    const release = await lock('lock table mirror_sync.migration in share row exclusive mode');
    // Longer than the wait for a reader of the table.
    const released = sql`select pg_sleep(0.6)`.execute(own.kysely).then(release);
    await account.page('lists', '[{"list_id":1,"colour":"red"}]');
    await released;
    expect(await account.rowsOf('colour', 'mirror.lists')).toEqual(['red']);
  });
});

it('MIRROR_SCHEMA_DRIFT=raw keeps new fields in _raw; add fills their columns later, batch by batch, also after a crash', async () => {
  const raw = await newAccount('1', RAW);
  const items = Array.from(
    { length: 1200 },
    (_, id) => `{"job_id":${id},"at":"2026-01-02 00:00:0${id % 10}","size":${id === 7 ? '"big"' : id}}`,
  );
  await raw.page('research_jobs', `[${items.join()}]`);
  const known = `select field, column_name, type from mirror.columns where field in ('at', 'size') order by 1`;
  expect(await lines(raw, known)).toEqual(['at - timestamptz', 'size - numeric']);
  const account = await newAccount();
  await account.page('research_jobs', '[{"job_id":5000,"size":5}]');
  const stamps = () => account.rowsOf('job_id, _change_id, _changed_at::text', 'mirror.research_jobs');
  const before = await stamps();
  expect(await account.mirror.backfill(account.fence)).toBe(true);
  const restarted = await newAccount();
  let batches = 0;
  while (await restarted.mirror.backfill(account.fence)) batches += 1;
  expect(batches).toBeGreaterThan(4);
  expect(await stamps()).toEqual(before);
  const filled = `count(*) filter (where size = (_raw ->> 'size')::numeric) as sizes,
    count(*) filter (where at = (_raw ->> 'at')::timestamp at time zone 'UTC') as times`;
  expect(await account.rowsOf(filled, 'mirror.research_jobs', 'and job_id <> 7')).toEqual(['1200 1199']);
  expect(await account.rowsOf('size', 'mirror.research_jobs', 'and job_id = 7')).toEqual(['-']);
  expect(await lines(account, `select conflicts from mirror.columns where field = 'size'`)).toEqual(['1']);
});
