import { Db } from '../../../src/postgres/db.ts';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate, MIGRATION_BOUNDS, neededMigrations } from '../../../src/postgres/run-migrations.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import {
  migrateTo,
  MIGRATIONS,
  openTestDatabase,
  createEmptyDatabase,
  testDatabase,
} from '../../support/databases/migrated-database.ts';
import { createTestDatabase } from '../../support/postgres/postgres.ts';

const open = testDatabase(() => createEmptyDatabase({ bounds: MIGRATION_BOUNDS }));
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'migrations-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const count = async (text: string): Promise<number> => {
  const { rows } = await open.db.sql<{ count: string }>`${sql.raw(text)}`;
  return Number(rows[0]?.count);
};

describe('migrate', () => {
  it('applies each migration once when several programs begin together', async () => {
    expect(await neededMigrations({ db: open.db, folder: MIGRATIONS, version: '0.2.0' })).toContain(
      '0001_mirror',
    );
    const applied = await Promise.all([1, 2, 3, 4].map(() => migrateTo(open.url, 'mirror')));
    expect(applied.flat().filter((name) => name === '0001_mirror')).toHaveLength(1);
    expect(await neededMigrations({ db: open.db, folder: MIGRATIONS, version: '0.2.0' })).toEqual([]);
    expect(await migrateTo(open.url, 'mirror')).toEqual([]);
  });

  it('refuses a migration whose text has changed since it was applied', async () => {
    const file = join(folder, '0001_first.sql');
    const options = { db: new Db(open.kysely, 'newer'), folder, version: '0.2.0', clock: systemClock };
    await writeFile(file, 'create schema if not exists "{schema}"; create table "{schema}".a ();');
    await migrate(options);
    await writeFile(file, 'create schema if not exists "{schema}"; create table "{schema}".b ();');
    await expect(migrate(options)).rejects.toThrow(
      /0001_first of schema "newer" was applied with another text/,
    );
  });

  it('leaves nothing of a migration that fails', async () => {
    await writeFile(
      join(folder, '0001_first.sql'),
      'create schema if not exists "{schema}"; create table "{schema}".a (); select 1 / 0;',
    );
    const options = { db: new Db(open.kysely, 'broken'), folder, version: '0.2.0', clock: systemClock };
    await expect(migrate(options)).rejects.toThrow(/division by zero/);
    expect(await count(`select count(*) from pg_namespace where nspname like 'broken%'`)).toBe(0);
  });

  it('distributes new tables of accounts where mirror.account is distributed', async () => {
    // Stand-ins for Citus: its catalogue and the one function that is called.
    await open.db
      .sql`create schema if not exists spread; create table spread.account (_user_id bigint primary key);
      -- Somebody's own, which Citus would refuse.
      create table spread.tags (_user_id int primary key references spread.account);
      create table public.pg_dist_partition (logicalrelid regclass);
      insert into pg_dist_partition values ('spread.account');
      create function create_distributed_table(name text, key text, colocate_with text) returns void
        language sql as 'insert into public.pg_dist_partition values (name::regclass)'`;
    await writeFile(
      join(folder, '0001_first.sql'),
      'create table "{schema}".rows (_user_id bigint, id bigint, primary key (_user_id, id)); create table "{schema}".settings (name text primary key);',
    );
    await writeFile(join(folder, 'objects.txt'), 'table {schema}.rows\ntable {schema}.settings\n');
    await migrate({ db: new Db(open.kysely, 'spread'), folder, version: '0.2.0', clock: systemClock });
    const { rows } = await open.db.sql<{
      name: string;
    }>`select logicalrelid::text as name from pg_dist_partition order by 1`;
    expect(rows.map(({ name }) => name)).toEqual(['spread.account', 'spread.rows']);
  });
});

describe('a mirror of the first version', () => {
  const run = async (text: string): Promise<Record<string, unknown>[]> =>
    (await open.db.sql<Record<string, unknown>>`${sql.raw(text)}`).rows;

  it('gets history with the columns that it has gained, and keeps its rows, grants and readers', async () => {
    const first = join(folder, 'first');
    await mkdir(first);
    await copyFile(join(MIGRATIONS, '0001_mirror.sql'), join(first, '0001_mirror.sql'));
    const options = { db: new Db(open.kysely, 'elder'), version: '0.2.0', clock: systemClock };
    await migrate({ ...options, folder: first });
    // Columns as the daemon adds them, and one of the operator's.
    await run(`
      insert into elder_sync.account (_user_id, created_at) values (1, now());
      insert into elder._collections (_user_id, collection, live_rows) values (1, 'lists', 1);
      alter table elder.lists add column dropped text, add column name text;
      alter table elder.lists drop column dropped, add column mine integer not null default 7;
      insert into elder.lists (_user_id, list_id, name, _first_seen_at, _changed_at, _change_id, _hash, _raw)
        values (1, 4, 'a', now(), now(), 1, '', '{"name":"a"}');
      revoke select on elder.account from elder_reader`);
    await migrate({ ...options, folder: MIGRATIONS });

    expect(await run('select list_id, name, mine, _is_current, _valid_to from elder.lists_versions')).toEqual(
      [{ list_id: '4', name: 'a', mine: 7, _is_current: true, _valid_to: null }],
    );
    await expect(run('select * from elder.lists_as_of(now())')).rejects.toThrow(
      /no history of account 1 is kept/,
    );
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
});

describe('a database that can’t hold every text', () => {
  it('is refused, with the remedy, and not touched', async () => {
    const ascii = await createTestDatabase('SQL_ASCII');
    const opened = await openTestDatabase(ascii.url);
    try {
      const migrating = migrate({
        db: opened.db,
        folder: MIGRATIONS,
        version: '0.2.0',
        clock: systemClock,
      });
      await expect(migrating).rejects.toThrow(/encoding is SQL_ASCII.*encoding 'UTF8'/);
      const { rows } = await opened.db.sql`select from pg_namespace where nspname like 'mirror%'`;
      expect(rows).toEqual([]);
    } finally {
      await opened.close();
      await ascii.drop();
    }
  });
});
