import { sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  migrate,
  MIGRATION_BOUNDS,
  neededMigrations,
  pendingMigrations,
} from '../../../src/postgres/run-migrations.ts';
import { whatIsMissing } from '../../../src/postgres/inspection.ts';
import { programVersion } from '../../../src/config/program.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { Database } from '../../../src/postgres/pool.ts';
import { MIGRATIONS, migrateTo, openTestDatabase } from '../../support/databases/migrated-database.ts';
import { createMirrorOf020, HEARTBEAT_OF_020 } from '../../support/databases/mirror-of-0.2.0.ts';
import type { TestDatabase } from '../../support/postgres/postgres.ts';

let database: TestDatabase;
let open: Database;
/** A session of a program of 0.2.0 or of another user. */
let other: pg.Client;

beforeEach(async () => {
  database = await createMirrorOf020();
  open = await openTestDatabase(database.url, { bounds: MIGRATION_BOUNDS });
  other = new pg.Client({ connectionString: database.url });
  await other.connect();
});
afterEach(async () => {
  await other.end();
  await open.close();
  await database.drop();
});

const upgrade = () =>
  migrate({ db: open.db, folder: MIGRATIONS, version: programVersion(), clock: systemClock });
const pending = async (which: typeof pendingMigrations | typeof neededMigrations): Promise<number> =>
  (await which({ db: open.db, folder: MIGRATIONS, version: programVersion() })).length;

/** Applies what this version needs, beside a process of 0.2.0, which then ends. */
async function besideAnOlder(): Promise<void> {
  await other.query(HEARTBEAT_OF_020, [12]);
  await upgrade();
  await other.query(HEARTBEAT_OF_020, [-1]);
}

/** Why the drop waits where a session keeps a lock. */
const KEPT = /^0034_dead_state waits: .* keeps a lock that the change of schema "mirror" needs$/;

type Rows = Record<string, unknown>[];
const run = async (text: string): Promise<Rows> => (await open.db.sql<Rows[number]>`${sql.raw(text)}`).rows;

/** Columns of both schemas' tables, `mirror.lists` → its columns. Without what each migration writes. */
async function columns(): Promise<Map<string, string[]>> {
  const rows = await run(`
    select format('%I.%I', table_schema, table_name) as name, array_agg(column_name::text order by column_name) as columns
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_schema in ('mirror', 'mirror_sync') and table_type = 'BASE TABLE' and table_name not in ('migration', 'granted')
    group by 1`);
  return new Map(rows.map(({ name, columns: all }) => [String(name), all as string[]]));
}

/** All rows of the tables, by these of their columns. */
async function content(tables: ReadonlyMap<string, readonly string[]>): Promise<Map<string, Rows>> {
  const found = new Map<string, Rows>();
  for (const [name, all] of tables) {
    const list = all.map((column) => `r."${column}"::text`).join(', ');
    found.set(name, await run(`select ${list} from ${name} r`));
  }
  return found;
}

/** Each row's values of these columns, in a fixed order. */
const only = (rows: Rows, all: readonly string[]): string[] =>
  rows.map((row) => JSON.stringify(all.map((column) => row[column]))).toSorted();

describe('a mirror of 0.2.0', () => {
  it('has what an upgrade must keep', async () => {
    const [has] = await run(`select
      (select count(distinct _user_id)::int from mirror.research_jobs) as accounts,
      (select count(distinct _user_id)::int from mirror.research_jobs_history) as histories,
      (select count(distinct _user_id)::int from mirror.watchlist where _deleted_at is not null) as deletions,
      (select count(distinct _user_id)::int from mirror.events) as events,
      (select count(distinct _user_id)::int from mirror.quarantine) as quarantined,
      (select array_agg(distinct state order by state) from mirror.submissions) as states`);
    const states = ['accepted', 'cancelled', 'queued', 'rejected', 'unknown'];
    expect(has).toEqual({ accounts: 2, histories: 2, deletions: 2, events: 2, quarantined: 2, states });
  });

  it('keeps each row, and each value of each column that still exists', async () => {
    const before = await columns();
    const rows = await content(before);
    expect(await upgrade()).toMatchObject({ waiting: undefined });
    expect(await pending(pendingMigrations)).toBe(0);
    expect(await whatIsMissing(open.db, MIGRATIONS)).toBeUndefined();

    const after = await columns();
    const kept = new Map<string, readonly string[]>();
    const gone: string[] = [];
    for (const [name, all] of before) {
      const left = after.get(name);
      if (left === undefined) gone.push(name);
      else {
        kept.set(
          name,
          all.filter((column) => left.includes(column)),
        );
        gone.push(...all.filter((column) => !left.includes(column)).map((column) => `${name}.${column}`));
      }
    }
    // Drops concern the daemon's state, not data.
    expect(gone.length).toBeGreaterThan(0);
    expect(gone.filter((each) => !each.startsWith('mirror_sync.'))).toEqual([]);
    const now = await content(kept);
    for (const [name, all] of kept) {
      expect([name, ...only(now.get(name) ?? [], all)]).toEqual([name, ...only(rows.get(name) ?? [], all)]);
    }
    expect([...rows.values()].flat().length).toBeGreaterThan(200);
    const views = [
      'changes',
      'companies',
      'freshness',
      'data_quality',
      'lists_live',
      'research_jobs_versions',
    ];
    const empty: string[] = [];
    for (const view of views) if ((await run(`select * from mirror.${view}`)).length === 0) empty.push(view);
    expect(empty).toEqual([]);
  });

  it('gets all but drops while a program of 0.2.0 lives, which may go on and restart', async () => {
    await other.query(HEARTBEAT_OF_020, [12]);
    const { applied, waiting } = await upgrade();
    expect(applied).toContain('0033_row_story');
    expect(waiting).toBe(
      '0034_dead_state waits until no program before 0.3.0 runs: "start" of 0.2.0, process 42 on elsewhere',
    );
    expect(await pending(neededMigrations)).toBe(0);
    expect(await pending(pendingMigrations)).toBe(1);
    // Everything of 0.2.0 is there, and accepts the writes of 0.2.0.
    await other.query('select previous_scheme from mirror_sync.registration');
    await other.query(HEARTBEAT_OF_020, [-1]);

    expect(await upgrade()).toEqual({ applied: ['0034_dead_state'], waiting: undefined });
    await expect(other.query('select previous_scheme from mirror_sync.registration')).rejects.toThrow(
      'does not exist',
    );
  });

  it('waits for a process of 0.2.0 that just begins, and accepts no heartbeat of one after the drop', async () => {
    await besideAnOlder();
    await other.query('begin');
    await other.query(HEARTBEAT_OF_020, [12]);
    expect((await upgrade()).waiting).toMatch(KEPT);
    await other.query('commit');
    expect((await upgrade()).waiting).toContain('"start" of 0.2.0');
    await other.query(HEARTBEAT_OF_020, [-1]);
    expect(await upgrade()).toMatchObject({ applied: ['0034_dead_state'] });
    await expect(other.query(HEARTBEAT_OF_020, [12])).rejects.toMatchObject({
      constraint: 'process_version',
    });
  });

  it('is searched for older processes when none can begin: their table is locked while the drop waits', async () => {
    await besideAnOlder();
    await other.query('begin; select from mirror_sync.registration');
    const observer = await openTestDatabase(database.url);
    const seen = new AbortController();
    const upgrading = (async () => {
      while (!seen.signal.aborted) expect((await upgrade()).waiting).toMatch(KEPT);
    })();
    try {
      await eventually('the lock', async () => {
        const { rows } = await observer.db.sql`
          select from pg_locks held join pg_locks wanted using (pid)
          where held.relation = 'mirror_sync.process'::regclass and held.mode = 'ExclusiveLock' and held.granted
            and wanted.relation = 'mirror_sync.registration'::regclass and not wanted.granted`;
        return rows.length > 0;
      });
    } finally {
      seen.abort();
      await upgrading;
      await observer.close();
    }
  });

  it('stays as it is if a session uses what is dropped: the program works without the drop', async () => {
    await besideAnOlder();
    await other.query('begin; select from mirror_sync.registration');
    expect((await upgrade()).waiting).toMatch(KEPT);
    expect(await pending(neededMigrations)).toBe(0);
    await other.query('commit');
    expect(await upgrade()).toMatchObject({ applied: ['0034_dead_state'] });
  });

  it('works with newer programs meanwhile: left columns have a default, or may be null', async () => {
    await besideAnOlder();
    const left = await columns();
    const required =
      await run(`select format('%I.%I', table_schema, table_name) as name, column_name as column
      from information_schema.columns
      where table_schema in ('mirror', 'mirror_sync') and is_nullable = 'NO' and column_default is null`);
    await upgrade();
    const after = await columns();
    const dropped = required.filter(
      ({ name, column }) =>
        left.has(String(name)) && after.get(String(name))?.includes(String(column)) === false,
    );
    expect(required.length).toBeGreaterThan(50);
    expect(dropped).toEqual([]);
  });
});

it('a new database gets all migrations at once', async () => {
  expect(await migrateTo(database.url, 'fresh')).toContain('0034_dead_state');
});
