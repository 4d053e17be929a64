import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFirstPingStore } from '../../../src/service/budget-store.ts';
import { migrate, MIGRATION_BOUNDS, readMigrations } from '../../../src/postgres/run-migrations.ts';
import { PATIENCE } from '../../../src/postgres/retried.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import {
  MIGRATIONS,
  createEmptyDatabase,
  databaseForEach,
} from '../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { sessionsWaiting } from '../../support/postgres/sessions-waiting.ts';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';

const open = databaseForEach(() => createEmptyDatabase({ bounds: MIGRATION_BOUNDS }));
let other: pg.Client;
const folder = folderForEach();

beforeEach(async () => {
  other = new pg.Client({ connectionString: open.url, application_name: 'somebody' });
  await other.connect();
  await writeFile(
    join(folder.path, '0001_first.sql'),
    'create schema if not exists "{schema}"; create table "{schema}".a ();',
  );
});
afterEach(() => other.end());

const bringUp = async (attempts: number, from = folder.path): Promise<readonly string[]> =>
  (
    await migrate({
      db: open.db,
      folder: from,
      version: '0.2.0',
      clock: systemClock,
      patience: { ...PATIENCE, attempts, lockMs: 1_500 },
    })
  ).applied;

async function second(text: string): Promise<void> {
  await writeFile(join(folder.path, '0002_second.sql'), text);
  await writeFile(join(folder.path, '0004_fourth.sql'), '-- oldest program: 0.2.0\nselect 1;');
}

const pidOf = async (client: pg.Client): Promise<number> =>
  (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0;

const applied = async (): Promise<string[]> =>
  (await open.db.sql<{ name: string }>`select name from mirror_sync.migration order by name`).rows.map(
    ({ name }) => name,
  );

/** Waits until a session of the database waits for a lock. */
const somebodyWaits = (): Promise<unknown> =>
  eventually('a session to wait', async () => {
    const run = async (text: string): Promise<readonly object[]> =>
      (await open.db.sql<object>`${sql.raw(text)}`).rows;
    return (await sessionsWaiting(run)) > 0;
  });

/** Begins a transaction of `other`, has a program wait for it, and returns how that ended. */
async function besideTransaction(...statements: readonly string[]): Promise<unknown> {
  await other.query('begin');
  for (const each of statements) await other.query(each);
  return bringUp(1).catch((error: unknown) => error);
}

describe('what a login without rights can lock', () => {
  it('makes neither migrations nor new columns nor a key’s first request wait', async () => {
    const name = new URL(open.url).pathname.slice(1);
    await other.query(`create role ${name}_stranger`);
    try {
      await other.query(`set role ${name}_stranger`);
      for (const lock of [
        'research-mirror migrate mirror',
        'mirror columns',
        'mirror first ping k',
        'research-mirror sql mirror',
      ]) {
        await other.query('select pg_advisory_lock(hashtextextended($1, 0))', [lock]);
      }
      expect(await bringUp(1, MIGRATIONS)).toContain('0001_mirror');
      const account = await MirroredAccount.make(open, '1');
      await account.page('lists', '[{"list_id":1,"colour":"red"}]');
      expect(await account.query('select colour from mirror.lists')).toEqual([{ colour: 'red' }]);
      const nothing = { keyHash: 'k', blocks: [], learnt: [] };
      const ping = { group: 'other', blockId: 1, size: 1, validForMs: 10_000 } as const;
      await createFirstPingStore(open.db).reserve('k', ping, nothing);
    } finally {
      await other.query(`reset role; drop role ${name}_stranger`);
    }
  });
});

describe('a program that finds the lock taken', () => {
  it.each([
    ['by one that migrates', 'select from mirror_sync.migration for update'],
    ['by a reader of a table that changes', 'select from mirror.a'],
  ])('gives up in time, names the session, and changes nothing: %s', async (_, statement) => {
    await bringUp(1);
    await second('alter table "{schema}".a add column b int;');
    const refused = await besideTransaction(statement);
    expect(refused).toBeInstanceOf(DatabaseUnavailable);
    expect((refused as Error).message).toMatch(
      new RegExp(`session ${await pidOf(other)} of \\w+ \\(somebody, its transaction began .* keeps a lock`),
    );
    expect(await applied()).toEqual(['0001_first']);
    await other.query('rollback');
    expect(await bringUp(1)).toEqual(['0002_second', '0004_fourth']);
  });

  it('waits at the catalogue if there is no table yet, and leaves nothing behind', async () => {
    const refused = await besideTransaction('create schema mirror_sync');
    expect(refused).toBeInstanceOf(DatabaseUnavailable);
    expect((refused as Error).message).toContain(`session ${await pidOf(other)} of`);
    await other.query('rollback');
    expect((await other.query(`select from pg_namespace where nspname like 'mirror%'`)).rows).toEqual([]);
    expect(await bringUp(1)).toEqual(['0001_first']);
  });

  it.each(['create schema mirror_sync', 'a table'])(
    'tries again when the other one commits the first migration: it waited for %s',
    async (what) => {
      if (what === 'a table') await other.query('create schema mirror_sync');
      const [first] = await readMigrations(folder.path);
      await other.query('begin');
      if (what !== 'a table') await other.query(what);
      await other.query(`create table mirror_sync.migration (
        name text primary key, checksum text not null, applied_at timestamptz not null, oldest_program text)`);
      const waiting = bringUp(2);
      await somebodyWaits();
      await other.query('create schema mirror; create table mirror.a ()');
      await other.query('insert into mirror_sync.migration values ($1, $2, now())', [
        first?.name,
        first?.checksum,
      ]);
      await other.query('commit');
      expect(await waiting).toEqual([]);
    },
  );

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
    expect(await applied()).toEqual(['0001_first', '0002_second', '0004_fourth']);
  });
});
