import { Db } from '../../../src/postgres/db.ts';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  migrate,
  MIGRATION_BOUNDS,
  neededMigrations,
  pendingMigrations,
} from '../../../src/postgres/run-migrations.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';
import {
  migrateTo,
  MIGRATIONS,
  openTestDatabase,
  createEmptyDatabase,
  testDatabase,
} from '../../support/databases/migrated-database.ts';
import { createTestDatabase } from '../../support/postgres/postgres.ts';

const open = testDatabase(() => createEmptyDatabase({ bounds: MIGRATION_BOUNDS }));
const { rows: run } = open;
const folder = folderForEach();

const options = (schema: string) => ({
  db: new Db(open.kysely, schema),
  folder: folder.path,
  version: '0.2.0',
  clock: systemClock,
});
const file = (text: string, name = '0001_first.sql') => writeFile(join(folder.path, name), text);

it('several programs that begin together apply each migration once, in a new database all of them', async () => {
  const here = { db: open.db, folder: MIGRATIONS, version: '0.3.0' };
  expect(await neededMigrations(here)).toContain('0001_mirror');
  const applied = await Promise.all([1, 2, 3, 4].map(() => migrateTo(open.url, 'mirror')));
  expect(applied.flat().filter((name) => name === '0001_mirror')).toHaveLength(1);
  expect([await neededMigrations(here), await pendingMigrations(here)]).toEqual([[], []]);
  expect(await migrateTo(open.url, 'mirror')).toEqual([]);
});

it('a migration whose text has changed since it was applied is refused', async () => {
  await file('create schema if not exists "{schema}"; create table "{schema}".a ();');
  await migrate(options('newer'));
  await file('create schema if not exists "{schema}"; create table "{schema}".b ();');
  await expect(migrate(options('newer'))).rejects.toThrow(/0001_first of schema "newer" was applied with another text/);
});

it('a migration that fails leaves nothing', async () => {
  await file('create schema if not exists "{schema}"; create table "{schema}".a (); select 1 / 0;');
  await expect(migrate(options('broken'))).rejects.toThrow(/division by zero/);
  expect(await run(`select from pg_namespace where nspname like 'broken%'`)).toEqual([]);
});

it('new tables of accounts are distributed where mirror.account is distributed', async () => {
  // Stand-ins for Citus: its catalogue and the one function that is called.
  await run(`create schema if not exists spread; create table spread.account (_user_id bigint primary key);
    -- Somebody's own, which Citus would refuse.
    create table spread.tags (_user_id int primary key references spread.account);
    create table public.pg_dist_partition (logicalrelid regclass);
    insert into pg_dist_partition values ('spread.account');
    create function create_distributed_table(name text, key text, colocate_with text) returns void
      language sql as 'insert into public.pg_dist_partition values (name::regclass)'`);
  await file(
    'create table "{schema}".rows (_user_id bigint, id bigint, primary key (_user_id, id)); create table "{schema}".settings (name text primary key);',
  );
  await file('table {schema}.rows\ntable {schema}.settings\n', 'objects.txt');
  await migrate(options('spread'));
  expect(await run('select logicalrelid::text as name from pg_dist_partition order by 1')).toEqual([
    { name: 'spread.account' },
    { name: 'spread.rows' },
  ]);
});

it('a mirror of the first version gets history with the columns that it has gained, and keeps its rows, grants and readers', async () => {
  await copyFile(join(MIGRATIONS, '0001_mirror.sql'), join(folder.path, '0001_mirror.sql'));
  await migrate(options('elder'));
  // Columns as the daemon adds them, and one of the operator's.
  await run(`
    insert into elder_sync.account (_user_id, created_at) values (1, now());
    insert into elder._collections (_user_id, collection, live_rows) values (1, 'lists', 1);
    alter table elder.lists add column dropped text, add column name text;
    alter table elder.lists drop column dropped, add column mine integer not null default 7;
    insert into elder.lists (_user_id, list_id, name, _first_seen_at, _changed_at, _change_id, _hash, _raw)
      values (1, 4, 'a', now(), now(), 1, '', '{"name":"a"}');
    revoke select on elder.account from elder_reader`);
  await migrate({ ...options('elder'), folder: MIGRATIONS });

  expect(await run('select list_id, name, mine, _is_current, _valid_to from elder.lists_versions')).toEqual([
    { list_id: '4', name: 'a', mine: 7, _is_current: true, _valid_to: null },
  ]);
  await expect(run('select * from elder.lists_as_of(now())')).rejects.toThrow(/no history of account 1 is kept/);
  await run(`
    update elder._collections set history_from = '-infinity';
    insert into elder.lists_history (_user_id, list_id, name, _first_seen_at, _changed_at, _change_id, _hash, _raw, _valid_from, _valid_to, _op)
      values (1, 4, 'before', '2026-01-01Z', '2026-01-01Z', 0, '', '{}', '2026-01-01Z', '2026-01-02Z', 'update')`);
  expect(await run(`select name, mine from elder.lists_as_of('2026-01-01Z')`)).toEqual([
    { name: 'before', mine: null },
  ]);
  // The role was there: it may use new objects, and sees nothing that was hidden from it.
  const rights = `
    select has_table_privilege('elder_reader', 'elder.' || t || '_history', 'select') as history,
      has_table_privilege('elder_reader', 'elder.' || t || '_versions', 'select') as versions,
      has_function_privilege('elder_reader', 'elder.' || t || '_as_of(timestamptz)', 'execute') as as_of
    from unnest(array['lists', 'account']) t`;
  expect(await run(rights)).toEqual([
    { history: true, versions: true, as_of: true },
    { history: false, versions: false, as_of: true },
  ]);
});

it('a database that can’t hold every text is refused, with the remedy, and not touched', async () => {
  const ascii = await createTestDatabase('SQL_ASCII');
  const { db, close } = await openTestDatabase(ascii.url);
  try {
    const migrating = migrate({ ...options('mirror'), db, folder: MIGRATIONS });
    await expect(migrating).rejects.toThrow(/encoding is SQL_ASCII.*encoding 'UTF8'/);
    expect((await db.sql`select from pg_namespace where nspname like 'mirror%'`).rows).toEqual([]);
  } finally {
    await close();
    await ascii.drop();
  }
});
