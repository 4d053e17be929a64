import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { isPgbouncerTested, startPgbouncer } from '../../support/databases/pgbouncer.ts';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { createTestDatabase } from '../../support/postgres/postgres.ts';
import { ask } from '../../support/postgres/on-connection.ts';
import { createSystem } from '../../support/processes/system.ts';

/** What a DBA may have set for a login, and what would change how the program's SQL is read or printed. */
const TURNED: Readonly<Record<string, string>> = {
  DateStyle: 'German',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kathmandu',
  timezone_abbreviations: 'India',
  extra_float_digits: '-15',
  bytea_output: 'escape',
  backslash_quote: 'on',
  client_encoding: 'LATIN1',
  xmlbinary: 'hex',
  default_transaction_isolation: 'serializable',
  session_replication_role: 'replica',
  synchronous_commit: 'off',
  gin_fuzzy_search_limit: '1',
  'plpgsql.variable_conflict': 'use_column',
  'plpgsql.extra_errors': 'all',
  createrole_self_grant: 'set, inherit',
  transaction_timeout: '20s',
  lock_timeout: '20s',
};

/** Switches that stay: each refuses what the program is for, or ends the server's process. */
const LEFT = new Set([
  'default_transaction_read_only',
  'transaction_read_only',
  'transaction_deferrable',
  'allow_system_table_mods',
  'ignore_checksum_failure',
  'zero_damaged_pages',
]);

const FIELD = `a\\'; drop table if exists public.victim; commit; --`;

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** A login for which every switch is turned, and each of `TURNED`, in a database where nothing is yet. */
async function turnedLogin() {
  const own = await createTestDatabase();
  const database = new URL(own.url).pathname.slice(1);
  const name = `${database}_login`;
  ends.push(async () => {
    await ask(own.url, `drop owned by ${name} cascade`, `drop role ${name}`);
    await own.drop();
  });
  const settings = await ask<{ setting: string; type: string; value: string }>(
    own.url,
    `create role ${name} login createrole password 'turned'; grant create on database ${database} to ${name};
     create table public.victim (a int); alter table public.victim owner to ${name}; load 'plpgsql'`,
    `select name as setting, vartype as type, setting as value from pg_settings
     where context in ('user', 'superuser') and category not like 'Developer%' and name !~ '^(log_|track_|debug_)'`,
  );
  const turned = settings.flatMap(({ setting, type, value }) => {
    const other = type === 'bool' && !LEFT.has(setting) ? (value === 'on' ? 'off' : 'on') : undefined;
    const to = TURNED[setting] ?? other;
    return to === undefined ? [] : [`alter role ${name} set ${setting} = '${to}'`];
  });
  expect(turned.length).toBeGreaterThan(50);
  // The same session: settings of plpgsql are known once it is loaded.
  await ask(own.url, `load 'plpgsql'`, ...turned);
  const { href: url } = Object.assign(new URL(own.url), { username: name, password: 'turned' });
  const [seen] = await ask(
    url,
    `select current_setting('standard_conforming_strings') || ' ' || current_setting('datestyle') as seen`,
  );
  expect(seen).toEqual({ seen: 'off German, DMY' });
  return { url, own };
}

const WAYS = isPgbouncerTested() ? (['directly', 'through pgbouncer'] as const) : (['directly'] as const);

describe('a login for which every setting is another than usual', () => {
  it.each(WAYS)('has a mirror made, filled, widened, thinned out and submitted from, %s', async (way) => {
    const { url, own } = await turnedLogin();
    let DATABASE_URL = url;
    if (way === 'through pgbouncer') {
      const pooler = await startPgbouncer(url);
      ends.push(() => pooler.stop());
      DATABASE_URL = pooler.url;
    }
    const system = await createSystem({ jobs: 40, lists: 3 }, { url: own.url, drop: async () => {} });
    ends.push(() => system.close());
    const env = { DATABASE_URL, MIRROR_SETTLE: '1s' };
    const { control } = system.sandbox;
    await control.clock({ freeze: true });
    await system.sync(['--full'], { env });
    expect(await differences(system)).toEqual([]);

    const fields = {
      [FIELD]: 'x',
      'back\\slash': null,
      null_list: [null, 'NULL'],
      seen_at: '01/02/2026',
      "it's": 1,
    };
    const insert = { op: 'insert', collection: 'research_jobs', fields } as const;
    await control.mutate({ ...insert, id: '901' }, { ...insert, id: '902' });
    for (let pass = 0; pass < 2; pass += 1) await system.sync(['--full'], { env });
    expect(await differences(system)).toEqual([]);
    const comments = await system.db.query<{ text: string }>(
      `select col_description('mirror.research_jobs_live'::regclass, attnum) as text from pg_attribute
         where attrelid = 'mirror.research_jobs_live'::regclass and attnum > 0 order by 1`,
    );
    expect(comments.rows.map(({ text }) => text)).toContain(`Field ${JSON.stringify(FIELD)} of the items.`);
    expect((await system.db.query('select from public.victim')).rows).toEqual([]);

    await control.mutate({ op: 'delete', collection: 'research_jobs', id: '901' });
    await system.db.query(`update mirror.research_jobs set _changed_at = _changed_at - interval '1 hour',
        _first_seen_at = _first_seen_at - interval '1 hour'`);
    await system.sync(['--full'], { env });
    const deleted = 'select job_id from mirror.research_jobs where _deleted_at is not null';
    expect((await system.db.query(deleted)).rows).toEqual([{ job_id: '901' }]);
    expect((await system.run(['verify', '--json'], env)).code).toBe(0);

    const daemon = await system.daemon(env);
    const submitted = await system.run(['submit', 'research', '--data', '{"company":"a\\\\b"}'], env);
    expect(submitted).toMatchObject({ code: 0 });
    const report = await eventually('to be healthy', async () => {
      const outcome = await system.run(['status', '--json'], env);
      return outcome.code === 0 ? outcome : undefined;
    });
    expect(report.stderr).toBe('');
    expect((await daemon.stop()).code).toBe(0);
    expect((await system.db.query('select from mirror.quarantine')).rows).toEqual([]);
  });
});
