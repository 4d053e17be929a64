import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFirstPingStore } from '../../../src/service/budget-store.ts';
import { migrate, MIGRATION_BOUNDS, readMigrations } from '../../../src/postgres/run-migrations.ts';
import { PATIENCE } from '../../../src/postgres/retried.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { MIGRATIONS, createEmptyDatabase, databaseForEach } from '../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { sessionsWaiting } from '../../support/postgres/sessions-waiting.ts';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';

const open = databaseForEach(() => createEmptyDatabase({ bounds: MIGRATION_BOUNDS }));
let other: pg.Client;
const folder = folderForEach();

const file = (name: string, text: string) => writeFile(join(folder.path, name), text);
beforeEach(async () => {
  other = new pg.Client({ connectionString: open.url, application_name: 'somebody' });
  await other.connect();
  await file('0001_first.sql', 'create schema if not exists "{schema}"; create table "{schema}".a ();');
});
afterEach(() => other.end());

async function bringUp(attempts: number, from = folder.path): Promise<readonly string[]> {
  const patience = { ...PATIENCE, attempts, lockMs: 1_500 };
  const options = { db: open.db, folder: from, version: '0.2.0', clock: systemClock, patience };
  return (await migrate(options)).applied;
}

async function second(text: string): Promise<void> {
  await file('0002_second.sql', text);
  await file('0004_fourth.sql', '-- oldest program: 0.2.0\nselect 1;');
}

const applied = () => open.rows('select name from mirror_sync.migration order by name');
const FIRST = { name: '0001_first' };
/** A session of the database waits for a lock. */
const somebodyWaits = () => eventually('a session to wait', async () => (await sessionsWaiting(open.rows)) > 0);

/** Begins a transaction of `other`, has a program wait for it, and expects it to give up, with that session's name. */
async function expectGivenUpBeside(statement: string): Promise<void> {
  await other.query(`begin; ${statement}`);
  const refused = await bringUp(1).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(DatabaseUnavailable);
  const { rows } = await other.query<{ pid: number }>('select pg_backend_pid() as pid');
  expect((refused as Error).message).toMatch(
    new RegExp(`session ${rows[0]?.pid} of \\w+ \\(somebody, its transaction began .* holds a lock`),
  );
}

it('what a login without rights can lock makes neither migrations nor new columns nor a key’s first request wait', async () => {
  const stranger = `${new URL(open.url).pathname.slice(1)}_stranger`;
  await other.query(`create role ${stranger}`);
  try {
    await other.query(`set role ${stranger}`);
    const locks = [
      'research-mirror migrate mirror',
      'mirror columns',
      'mirror first ping k',
      'research-mirror sql mirror',
    ];
    for (const lock of locks) await other.query('select pg_advisory_lock(hashtextextended($1, 0))', [lock]);
    // Other tests may be making the server's roles meanwhile; these locks are held all the time.
    expect(await bringUp(3, MIGRATIONS)).toContain('0001_mirror');
    const account = await MirroredAccount.make(open, '1');
    await account.page('lists', '[{"list_id":1,"colour":"red"}]');
    expect(await account.query('select colour from mirror.lists')).toEqual([{ colour: 'red' }]);
    const nothing = { keyHash: 'k', blocks: [], learnt: [] };
    const ping = { group: 'other', blockId: 1, size: 1, validForMs: 10_000 } as const;
    await createFirstPingStore(open.db).reserve('k', ping, nothing);
  } finally {
    await other.query(`reset role; drop role ${stranger}`);
  }
});

describe('a program that finds the lock taken', () => {
  it.each([
    ['by one that migrates', 'select from mirror_sync.migration for update'],
    ['by a reader of a table that changes', 'select from mirror.a'],
  ])('gives up in time, names the session, and changes nothing: %s', async (_, statement) => {
    await bringUp(1);
    await second('alter table "{schema}".a add column b int;');
    await expectGivenUpBeside(statement);
    expect(await applied()).toEqual([FIRST]);
    await other.query('rollback');
    expect(await bringUp(1)).toEqual(['0002_second', '0004_fourth']);
  });

  it('waits at the catalogue if there is no table yet, and leaves nothing behind', async () => {
    await expectGivenUpBeside('create schema mirror_sync');
    await other.query('rollback');
    expect(await open.rows(`select from pg_namespace where nspname like 'mirror%'`)).toEqual([]);
    expect(await bringUp(1)).toEqual(['0001_first']);
  });

  it.each([
    ['the schema', 'begin; create schema mirror_sync'],
    ['a table', 'create schema mirror_sync; begin'],
  ])('tries again when the other one commits the first migration: it waited for %s', async (_, begin) => {
    const [first] = await readMigrations(folder.path);
    for (const statement of begin.split('; ')) await other.query(statement);
    await other.query(`create table mirror_sync.migration (
      name text primary key, checksum text not null, applied_at timestamptz not null, oldest_program text)`);
    const waiting = bringUp(2);
    await somebodyWaits();
    await other.query(`create schema mirror; create table mirror.a ();
      insert into mirror_sync.migration values ('${first?.name}', '${first?.checksum}', now()); commit`);
    expect(await waiting).toEqual([]);
  });

  it('applies what a program of 0.2.0, which has another lock, has not applied', async () => {
    await bringUp(1);
    await second('create table "{schema}".b ();');
    const [, both] = await readMigrations(folder.path);
    await other.query(`begin; select pg_advisory_xact_lock(hashtextextended('research-mirror migrate mirror', 0));
      create table mirror.b ()`);
    const waiting = bringUp(5);
    await somebodyWaits();
    const inserted = other
      .query('insert into mirror_sync.migration values ($1, $2, now())', [both?.name, both?.checksum])
      .then(
        () => other.query('commit'),
        () => other.query('rollback'),
      );
    const [mine] = await Promise.all([waiting, inserted]);
    expect(mine).toContain('0004_fourth');
    expect(await applied()).toEqual([FIRST, { name: '0002_second' }, { name: '0004_fourth' }]);
  });
});
