import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Mutation } from '@research-mirror/sandbox/control/mutation';
import type { ItemSelection } from '@research-mirror/sandbox/testing/control-client';
import { COLLECTION_NAMES } from '../../src/model/collections.ts';
import { type DbtProject, openDbtProject } from './dbt-project.ts';
import { DBT_REQUIREMENTS } from './dbt-python.ts';
import { pythonEnvironment } from '../support/python/python-environment.ts';
import { createReaderLogin, type ReaderLogin } from '../support/postgres/reader-login.ts';
import { createFrozenSystem, type Environment, type System } from '../support/processes/system.ts';

const USERS = [1001, 1002] as const;
const INCREMENTS = 10;
/** Rows that go are removed from this increment on; before, they are marked. */
const HARD_FROM = 8;
const TEST_OF_LISTS = 'research_mirror_as_in_source_stg_research_mirror__lists_lists';
const SNAPSHOTS = ['--vars', '{research_mirror_snapshots: true}'];

let system: System;
let login: ReaderLogin;
let dbt: DbtProject;

beforeAll(async () => {
  system = await createFrozenSystem({
    keys: 'first-key=1001,second-key=1002',
    jobs: 120,
    bulkJobs: 20,
    lists: 25,
    itemsPerList: 8,
    watchlist: 40,
  });
  await mirror(1);
  // As where the database's clock was put right: the second account's counter stays far ahead of the first one's.
  await system.db.query('update mirror_sync.account set change_id = change_id + 1000000000000 where _user_id = $1', [
    USERS[1],
  ]);
  login = await createReaderLogin(system.databaseUrl);
  const { pathname } = new URL(system.databaseUrl);
  await system.db.query(`grant create on database ${pathname.slice(1)} to ${login.name}`);
  dbt = await openDbtProject(login.url);
});
afterAll(async () => {
  await dbt.close();
  await login.drop();
  await system.close();
});

/** Mirrors both accounts, deletions included, as increment `nth` does. */
async function mirror(nth: number): Promise<void> {
  const env: Environment = {
    MIRROR_API_KEY: 'first-key,second-key',
    MIRROR_SETTLE: '1s',
    MIRROR_DELETES: nth < HARD_FROM ? 'soft' : 'hard',
  };
  await system.sync(['--full', '--accept-deletions'], { env });
}

const NAMES = ['research_jobs', 'bulk_research_jobs', 'lists', 'watchlist'] as const;

/** IDs of what the service has now, in its order. */
async function ids(which: ItemSelection): Promise<string[]> {
  const truth = await system.sandbox.control.truth(which);
  return truth.map((text) => String(Object.values(JSON.parse(text) as Record<string, unknown>)[0]));
}

/** What went, by increment. */
const gone = new Map<number, Mutation[]>();

/**
 * Increment `nth` of the accounts' data at the service: in each collection an item comes, some change, one goes; what
 * went two increments ago comes back. A list goes, and comes back, with its items. From the third on, jobs have a field
 * that they did not have before.
 */
async function changeService(nth: number): Promise<void> {
  const mutations: Mutation[] = [];
  const removed: Mutation[] = [];
  for (const user of USERS) {
    for (const collection of NAMES) {
      const all = await ids({ collection, user });
      const at = (index: number): string => all[(nth * 7 + index) % all.length] ?? '';
      const fields = { note: `increment ${nth}`, ...(nth > 2 ? { Mood: nth / 4 } : {}) };
      for (const index of [0, 1, 2]) mutations.push({ op: 'update', user, collection, id: at(index), fields });
      mutations.push({ op: 'insert', user, collection });
      removed.push({ op: 'delete', user, collection, id: at(3) });
      if (collection !== 'lists') continue;
      const place = { user, collection: 'list_items', list: at(4) } as const;
      const [first = '', second = ''] = await ids(place);
      mutations.push({ op: 'update', ...place, id: first, fields }, { op: 'insert', ...place });
      removed.push({ op: 'delete', ...place, id: second });
    }
  }
  const back = (gone.get(nth - 2) ?? []).map((each): Mutation => ({ ...each, op: 'restore' }));
  gone.set(nth, removed);
  // What comes back first: an item's list is there before the item.
  await system.sandbox.control.mutate(...back, ...mutations, ...removed);
}

async function one<T>(text: string): Promise<T> {
  const { rows } = await system.db.query<{ value: T }>(text);
  if (rows[0] === undefined) throw new Error(`nothing answers ${text}`);
  return rows[0].value;
}

/** How many rows of each staging model are not the source's, or the other way round. */
async function differences(): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const name of COLLECTION_NAMES) {
    const columns = await one<string>(
      `select string_agg(quote_ident(column_name), ', ' order by ordinal_position) as value
       from information_schema.columns where table_schema = 'mirror' and table_name = '${name}'
         and column_name not in ('_raw', '_verbatim', '_hash')`,
    );
    const source = `select ${columns} from mirror.${name}`;
    const model = `select ${columns} from analytics.stg_research_mirror__${name}`;
    found[name] = await one(`select count(*)::int as value from (
      (${source} except all ${model}) union all (${model} except all ${source})) as x`);
  }
  return found;
}

const ITEMS = 'select count(*)::int as value from mirror.list_items';

const EQUAL = Object.fromEntries(COLLECTION_NAMES.map((name) => [name, 0]));

/** How many jobs are not as the source has them in an analyst's own model. */
const staleJobs = (model: string): Promise<number> =>
  one(`select count(*)::int as value from mirror.research_jobs as j
    left join analytics.${model} as m using (_user_id, job_id)
    where m._change_id is distinct from j._change_id`);

describe('the dbt package, over two accounts of which one is far ahead of the other', () => {
  it(`has every row as the mirror has it after each of ${INCREMENTS} increments`, async () => {
    await dbt.must('build', ...SNAPSHOTS);
    expect(await differences()).toEqual(EQUAL);
    for (let nth = 1; nth <= INCREMENTS; nth += 1) {
      await changeService(nth);
      // A run that reads while the mirror is written loses nothing for the next one.
      const beside = nth % 2 === 0 && nth < HARD_FROM ? dbt.must('build', ...SNAPSHOTS) : undefined;
      await Promise.all([mirror(nth), beside]);
      await dbt.must('build', ...SNAPSHOTS);
      expect({ nth, ...(await differences()) }).toEqual({ nth, ...EQUAL });
      if (nth < HARD_FROM) {
        expect(await staleJobs('watermark_per_account')).toBe(0);
        expect(await staleJobs('watermark_by_alias')).toBe(0);
        // A list of each account went with its items.
        expect(await one(`${ITEMS} where _deleted_at is not null`)).toBeGreaterThan(2 * 8);
      }
    }
    // They were removed in the end.
    expect(await one(`${ITEMS} where _deleted_at is not null`)).toBe(0);
    expect(
      await one(`select count(distinct (_user_id, list_id, id))::int as value
        from mirror.list_items_history left join mirror.list_items as i using (_user_id, list_id, id)
        where i.id is null`),
    ).toBeGreaterThan(2 * 8);
    // Jobs that went, and came back under an ID of their own.
    expect(
      await one(`select count(*)::int as value from mirror.research_jobs_history as h
        join mirror.research_jobs as j using (_user_id, job_id)
        where h._op = 'delete' and j._deleted_at is null`),
    ).toBeGreaterThanOrEqual(2 * (INCREMENTS - 2));
    // A field that came later.
    expect(
      await one(`select count(*)::int as value from analytics.stg_research_mirror__research_jobs
        where mood is not null`),
    ).toBeGreaterThan(10);
  });

  it('is needed: one watermark over both accounts leaves rows stale', async () => {
    expect(await staleJobs('one_watermark')).toBeGreaterThan(20);
  });

  it('keeps in snapshots the versions that a run found; the history of the mirror has all of them', async () => {
    const name = 'snp_research_mirror__research_jobs';
    expect(
      await one(`select count(*)::int as value from
        (select _key, _change_id from analytics.stg_research_mirror__research_jobs) as s
        full join (select _key, _change_id from analytics.${name} where dbt_valid_to is null) as v using (_key)
        where s._change_id is distinct from v._change_id`),
    ).toBe(0);
    expect(
      await one(`select count(*)::int as value from analytics.${name} where dbt_valid_to is not null`),
    ).toBeGreaterThan(2 * 3 * INCREMENTS);
  });

  it('tells by its tests what is no longer like the source, and mends it in place', async () => {
    const [table, model] = ['mirror.lists', 'analytics.stg_research_mirror__lists'];
    const { rows: keys } = await system.db.query<{ key: string }>(
      `select _user_id || ':' || list_id as key from ${table} order by _change_id limit 4`,
    );
    const [stale, missing, newer, inPlace] = keys.map(({ key }) => key);
    const where = (key: string | undefined): string => `where _user_id || ':' || list_id = '${key}'`;
    await system.db.query(
      `set role ${login.name}; create view analytics.built_on_it as select * from ${model}; reset role;
       update ${model} set note = 'old', _change_id = _change_id - 1 ${where(stale)};
       delete from ${model} ${where(missing)};
       -- As after a restore: the change is lost that the model has.
       update ${table} set _change_id = _change_id - 1 ${where(newer)};
       -- As where a field is excluded, or a late column filled.
       update ${table} set _first_seen_at = now() ${where(inPlace)}`,
    );
    const lists = ['--select', 'stg_research_mirror__lists'];
    const { results } = await dbt.run('test', ...lists, '--store-failures');
    const failed = results.filter(({ status }) => status === 'fail').map(({ name }) => name);
    expect(failed).toEqual(expect.arrayContaining([TEST_OF_LISTS]));
    const found = await system.db.query(
      `select _key, what from analytics_dbt_test__audit.${TEST_OF_LISTS} order by what`,
    );
    expect(found.rows).toEqual([
      { _key: inPlace, what: 'changed in place' },
      { _key: missing, what: 'missing' },
      { _key: newer, what: 'newer than the source' },
      { _key: stale, what: 'stale' },
    ]);
    await dbt.must('build', ...lists, '--vars', '{research_mirror_compare: true}');
    expect(await differences()).toEqual(EQUAL);
    // No view that was built on the model is lost by it.
    expect(await one('select count(*)::int as value from analytics.built_on_it')).toBeGreaterThan(0);
  });

  it('takes all rows in the run in which a column is new: it was filled in rows that count as unchanged', async () => {
    await system.db.query(`alter table mirror.watchlist add column "late Ä" text default 'filled'`);
    await dbt.must('build', '--select', 'stg_research_mirror__watchlist');
    expect(await differences()).toEqual(EQUAL);
  });

  it('says how fresh its sources are, by the account that is furthest behind', async () => {
    await dbt.must('source', 'freshness');
    await system.db.query(
      `update mirror._collections set polled_at = polled_at - interval '2 hours'
       where collection = 'watchlist' and _user_id = $1`,
      [USERS[1]],
    );
    const { success, results } = await dbt.run('source', 'freshness');
    expect(success).toBe(false);
    const late = results.filter(({ status }) => status !== 'pass');
    expect(late).toMatchObject([{ name: 'watchlist', status: 'error' }]);
    expect(results).toHaveLength(COLLECTION_NAMES.length);
  });

  it('says what to do where its login may not read the mirror', async () => {
    const elsewhere = ['--vars', '{research_mirror_schema: elsewhere}'];
    const { results } = await dbt.run('run', '--select', 'stg_research_mirror__lists', ...elsewhere);
    expect(results[0]?.message).toContain("Is the variable research_mirror_schema the mirror's MIRROR_SCHEMA");
  });
});

describe('Python', () => {
  it('is asked for by name where there is none', async () => {
    await expect(pythonEnvironment(DBT_REQUIREMENTS, 'no-such-python')).rejects.toThrow('apt-get install python3-venv');
  });
});
