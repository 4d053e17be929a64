import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { programVersion } from '../../../src/config/program.ts';
import { quotedText } from '../../../src/postgres/db.ts';
import { pendingMigrations } from '../../../src/postgres/run-migrations.ts';
import {
  createMigratedTestDatabase,
  type MigratedDatabase,
  MIGRATIONS,
  opened,
} from '../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { serverUrl } from '../../support/postgres/postgres.ts';
import { ask } from '../../support/postgres/on-connection.ts';

let database: MigratedDatabase | undefined;
afterEach(async () => {
  await database?.drop();
  database = undefined;
});

/** A migrated database with these settings for every login. */
async function databaseWith(settings: Readonly<Record<string, string>>): Promise<MigratedDatabase> {
  const made = await createMigratedTestDatabase();
  const name = new URL(made.url).pathname.slice(1);
  const alter = Object.entries(settings).map(([each, to]) => `alter database ${name} set ${each} = ${to}`);
  await ask(made.url, ...alter);
  return (database = await opened(made, {}));
}

const TURNED = {
  standard_conforming_strings: 'off',
  array_nulls: 'off',
  transform_null_equals: 'on',
  quote_all_identifiers: 'on',
  datestyle: 'German',
  intervalstyle: 'sql_standard',
  timezone: `'Asia/Kathmandu'`,
  extra_float_digits: '-15',
  bytea_output: 'escape',
  default_transaction_isolation: `'repeatable read'`,
};

describe('settings of a login or a database', () => {
  it('change neither how a statement is read nor what it returns, in a transaction or without one', async () => {
    const { db, kysely } = await databaseWith(TURNED);
    const query = sql`select timestamptz '2026-03-04 05:06:07.125+00' as moment, interval '-1 day 2 hours' as span,
      date_trunc('day', timestamptz '2026-03-04 23:00+00')::text as day, ${'a\\b'}::text || '\\' as text,
      ${['x', null]}::text[] as list, null = null as equal, quote_ident('plain') as name, 0.1::float8::text as number,
      'a'::bytea::text as bytes, current_setting('transaction_isolation') as isolation`;
    const told = {
      moment: new Date('2026-03-04T05:06:07.125Z'),
      span: { days: -1, hours: 2 },
      day: '2026-03-04 00:00:00+00',
      text: 'a\\b\\',
      list: ['x', null],
      equal: null,
      name: 'plain',
      number: '0.1',
      bytes: '\\x61',
      isolation: 'read committed',
    };
    expect((await query.execute(db)).rows).toEqual([told]);
    expect(await db.transaction(async (trx) => (await query.execute(trx)).rows)).toEqual([told]);
    const strict = kysely.transaction().setIsolationLevel('serializable').setAccessMode('read only');
    const { rows } = await strict.execute((trx) => query.execute(trx));
    expect(rows).toEqual([{ ...told, isolation: 'serializable' }]);
  });

  it('leave a statement without a transaction its error, and the connection whole', async () => {
    const { db } = await databaseWith(TURNED);
    await expect(db.sql`select 1 / 0`).rejects.toThrow('division by zero');
    expect((await db.sql`select 1 as one`).rows).toEqual([{ one: 1 }]);
  });

  it.each(['on', 'off'])('do not change what a literal means: %s', async (conforming) => {
    const hostile = [`a\\'; drop table victim; --`, '\\\\', `\\''`, '"', '$$', 'ü\n\t'];
    const texts = ['a', `it's`, 'back\\slash', ...hostile];
    const found = await ask(
      await serverUrl(),
      `set standard_conforming_strings = ${conforming}`,
      'set backslash_quote = off',
      `select array[${texts.map(quotedText).join(', ')}] as texts`,
    );
    expect(found).toEqual([{ texts }]);
  });

  it.each(['standard_conforming_strings', 'quote_all_identifiers'] as const)(
    'run no field’s name as SQL: %s',
    async (setting) => {
      const made = await databaseWith({ [setting]: TURNED[setting] });
      await ask(made.url, 'create table public.victim (a int)');
      const account = await MirroredAccount.make(made, '1');
      const fields = [`a\\'; drop table if exists public.victim; commit; --`, `b'\\`, 'c\\'];
      for (const [at, field] of fields.entries()) {
        const item = { job_id: at + 1, status: 'open', [field]: 'x' };
        const written = await account.page('research_jobs', JSON.stringify([item]));
        expect(written).toMatchObject({ state: 'applied' });
      }
      expect(await ask(made.url, 'select from public.victim')).toEqual([]);
      const found = await account.query<{ text: string }>(`
        select col_description(attrelid, attnum) as text from pg_attribute
        where attrelid in ('mirror.research_jobs'::regclass, 'mirror.research_jobs_live'::regclass)
          and col_description(attrelid, attnum) like 'Field % of the items.' order by attrelid, attnum`);
      const comments = fields.map((field) => `Field ${JSON.stringify(field)} of the items.`);
      expect(found.map(({ text }) => text)).toEqual([...comments, ...comments]);
    },
  );

  it.each([
    [
      'search_path',
      'public, pg_catalog',
      /has search_path = public, pg_catalog: .*alter role \S+ set search_path = "\$user", public/,
    ],
    ['restrict_nonsystem_relation_kind', `'view'`, /views or foreign tables can't be read.*_kind = ''/],
  ])('that the program can’t work with are named first: %s', async (setting, value, message) => {
    const { db } = await databaseWith({ [setting]: value });
    const asked = pendingMigrations({ db, folder: MIGRATIONS, version: programVersion() });
    await expect(asked).rejects.toThrow(message);
  });
});

it('functions of the mirror read their own SQL the same way for every caller', async () => {
  const { db, url } = await databaseWith({});
  const { rows } = await db.sql`
    select p.oid::regprocedure::text as name from pg_proc p
    where pronamespace in ('mirror'::regnamespace, 'mirror_sync'::regnamespace) and not coalesce(proconfig, '{}') @> array[
      'standard_conforming_strings=on', 'array_nulls=on', 'transform_null_equals=off', 'quote_all_identifiers=off']
      and prolang <> (select oid from pg_language where lanname = 'sql')`;
  expect(rows).toEqual([]);
  await db.sql`insert into mirror_sync.account (_user_id, created_at) values (1, clock_timestamp())`;
  const submit = `select mirror.submit('sequence', '{}', '17') as id`;
  const queued = await ask(url, 'set standard_conforming_strings = off', submit);
  expect(queued).toEqual([{ id: expect.stringMatching(/^\d+$/) as string }]);
});
