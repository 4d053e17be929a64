import { describe, expect, it } from 'vitest';
import { messageOf } from '@research-mirror/runtime/message';
import { missingRights } from '../../../src/postgres/inspection.ts';
import {
  MIGRATIONS,
  migrateTo,
  openTestDatabase,
  createEmptyDatabase,
  databaseForEach,
} from '../../support/databases/migrated-database.ts';

const database = databaseForEach(createEmptyDatabase);
const { rows } = database;

/** Everything in the database that a failed start could have made. */
const content = () =>
  rows(`select relnamespace::regnamespace::text as schema, relname as name from pg_class
    where relnamespace::regnamespace::text !~ '^pg_|^information_schema' union all select 'schema', nspname from pg_namespace
    where nspname !~ '^pg_' order by 1, 2`);

async function refused(schema: string): Promise<string> {
  const before = await content();
  const message = await migrateTo(database.url, schema).then(() => 'nothing', messageOf);
  expect(await content()).toEqual(before);
  return message;
}

/** Makes a login with what `granted` makes for it, and runs `use` with its URL. */
async function asLogin(granted: (name: string) => string, use: (url: string) => Promise<void>) {
  const url = new URL(database.url);
  const name = `${url.pathname.slice(1)}_login`;
  Object.assign(url, { username: name, password: 'word' });
  await rows(`create role ${name} login password 'word'; ${granted(name)}`);
  try {
    await use(url.href);
  } finally {
    await rows(`drop owned by ${name}; drop role ${name}`);
  }
}

describe('a schema that something else has taken', () => {
  it.each([
    ['a table', 'create table public.account (id int)', 'the table public.account of postgres'],
    ['a view', 'create view public.lists_live as select 1 as one', 'the view public.lists_live of postgres'],
    ['a type', `create type public.webhook as enum ('a')`, 'the type public.webhook of postgres'],
    [
      'an index',
      'create table public.t (a int); create index account_change on public.t (a)',
      'the index public.account_change',
    ],
    [
      'a function',
      'create function public.cancel_submission(n bigint) returns int language sql as $$ select 1 $$',
      'the function public.cancel_submission(bigint) of postgres',
    ],
  ])('is named with its owner and the remedy, and nothing is touched: %s', async (_, make, what) => {
    await rows(make);
    const message = await refused('public');
    expect(message).toContain(`other objects have names that the mirror needs: ${what}`);
    expect(message).toMatch(
      /\. Nothing was touched. Set MIRROR_SCHEMA to another name than "public" .*, or move them away\.$/,
    );
  });

  it('is named by five of its objects, and how many more there are', async () => {
    const tables = ['account', 'events', 'lists', 'watchlist', 'webhook', 'submissions', 'research_jobs'];
    await rows(tables.map((name) => `create table public.${name} ()`).join(';'));
    expect(await refused('public')).toContain('the table public.submissions of postgres and 2 more. ');
  });

  it('is named if it is in the schema of the daemon’s state', async () => {
    await rows('create schema mirror_sync; create table mirror_sync.process (id int)');
    expect(await refused('mirror')).toContain('the table mirror_sync.process of postgres');
    await rows('drop table mirror_sync.process; create table mirror_sync.migration (version int)');
    expect(await refused('mirror')).toBe(
      `the table mirror_sync.migration of postgres belongs to another program: it is not a list of migrations. Nothing was touched. ` +
        'Set MIRROR_SCHEMA to another name than "mirror", or move it away.',
    );
  });

  it('is named if this user can make nothing in it', () =>
    asLogin(
      (name) => `create schema mirror_sync; grant create on database ${name.replace('_login', '')} to ${name}`,
      (url) => expect(migrateTo(url, 'mirror')).rejects.toThrow('permission denied for schema mirror_sync'),
    ));

  it('is shared if it has none of the mirror’s names', async () => {
    await rows('create table public.customers (id int); create schema mirror_sync');
    await migrateTo(database.url, 'public');
    expect(await rows('select count(*)::int as n from public.freshness')).toEqual([{ n: 0 }]);
    expect(await rows(`select nspname from pg_namespace where nspname like 'research%'`)).toEqual([]);
    await migrateTo(database.url, 'mirror');
  });
});

describe('schemas that a DBA made for a login that may make none', () => {
  const made = (name: string): string =>
    `create schema mirror authorization ${name}; create schema mirror_sync authorization ${name}`;

  it('suffice', () =>
    asLogin(made, async (url) => {
      expect(await migrateTo(url, 'mirror')).toContain('0001_mirror');
      const login = await openTestDatabase(url);
      expect(await missingRights(login.db, MIGRATIONS)).toEqual([]);
      await login.close();
    }));

  it('are refused, with the remedy, if they hold something else', () =>
    asLogin(made, async (url) => {
      await rows('create table mirror.account (id int)');
      await expect(migrateTo(url, 'mirror')).rejects.toThrow(
        /have names that the mirror needs: the table mirror.account of postgres. Nothing was touched. .* or move them away/,
      );
      await rows('drop table mirror.account');
    }));
});
