import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Database } from '../../../../src/db/connection/database.ts';
import { migrate, MIGRATION_BOUNDS } from '../../../../src/db/migrations/run-migrations.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { MIGRATIONS, openTestDatabase } from '../../../support/databases/migrated-database.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres/postgres.ts';

/** The last migration whose views had keys that no index can have. */
const BEFORE = 12;

let database: TestDatabase;
let open: Database;
let folder: string;

beforeEach(async () => {
  database = await createTestDatabase();
  open = await openTestDatabase(database.url, { bounds: MIGRATION_BOUNDS });
  folder = await mkdtemp(join(tmpdir(), 'live-keys-'));
  for (const name of await readdir(MIGRATIONS)) {
    if (Number(name.slice(0, 4)) <= BEFORE) await copyFile(join(MIGRATIONS, name), join(folder, name));
  }
  await migrateBy(folder);
});
afterEach(async () => {
  await open.close();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const migrateBy = (migrations: string): Promise<unknown> =>
  migrate({ db: open.db, folder: migrations, version: '99.0.0', clock: systemClock });

async function run<Row = Record<string, unknown>>(text: string): Promise<Row[]> {
  return (await open.db.sql<Row>`${sql.raw(text)}`).rows;
}

it('the keys of views become immutable in place: columns, options, comments, grants and views upon them stay', async () => {
  // As the program of that time extended them.
  await run(`alter table mirror.list_items add column "größe" text, add column other text`);
  await run(`create or replace view mirror.list_items_live with (security_barrier=true) as
    select _user_id || ':' || list_id || ':' || id as _key, _user_id || ':' || list_id as _list_key,
      _user_id, list_id, id, _first_seen_at, _changed_at, _change_id, "größe", other
    from mirror.list_items where _deleted_at is null`);
  await run(`comment on column mirror.list_items_live.other is 'mine'; grant select on mirror.list_items_live to public;
    create view public.upon as select _key, other from mirror.list_items_live`);
  // Somebody's own: another order of its key, a column more.
  await run(`create or replace view mirror.lists_live as
    select _user_id || ':' || list_id as _key, _user_id, list_id, _first_seen_at, _changed_at, _change_id, 1 as mine
    from mirror.lists where _deleted_at is null`);
  await run(`insert into mirror.list_items (_user_id, list_id, id, _first_seen_at, _changed_at, _change_id, _hash, _raw, other)
    values (42, 4, 'a:b', now(), now(), 1, '', '{}', 'x')`);
  await migrateBy(MIGRATIONS);
  const views = await run<{ view: string; definition: string }>(
    `select relname as view, pg_get_viewdef(oid) as definition from pg_class
     where relnamespace = 'mirror'::regnamespace and relname like '%\\_live'`,
  );
  const old = views.filter(({ definition }) => /\((?:\w+\.)?_user_id \|\|/.test(definition)).map(({ view }) => view);
  expect(old).toEqual(['lists_live']);
  expect(await run('select _key, _list_key, other from mirror.list_items_live')).toEqual([
    { _key: '42:4:a:b', _list_key: '42:4', other: 'x' },
  ]);
  expect(await run('select * from public.upon')).toEqual([{ _key: '42:4:a:b', other: 'x' }]);
  expect(await run('select mine from mirror.lists_live')).toEqual([]);
  expect(
    await run(`select reloptions::text as options, has_table_privilege('public', oid, 'select') as all,
      col_description(oid, 10) as comment from pg_class where oid = 'mirror.list_items_live'::regclass`),
  ).toEqual([{ options: '{security_barrier=true}', all: true, comment: 'mine' }]);
});
