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
import { databaseForEach, MIGRATIONS, opened, openTestDatabase } from '../../support/databases/migrated-database.ts';
import { createMirrorOf020, HEARTBEAT_OF_020 } from '../../support/databases/mirror-of-0.2.0.ts';

const open = databaseForEach(async () => opened(await createMirrorOf020(), { bounds: MIGRATION_BOUNDS }));
/** A session of a program of 0.2.0 or of another user. */
let other: pg.Client;
beforeEach(async () => {
  other = new pg.Client({ connectionString: open.url });
  await other.connect();
});
afterEach(() => other.end());

const here = () => ({ db: open.db, folder: MIGRATIONS, version: programVersion() });
const upgrade = () => migrate({ ...here(), clock: systemClock });
const pending = async (which: typeof pendingMigrations | typeof neededMigrations) => (await which(here())).length;
/** A process of 0.2.0 lives for so many seconds from now. */
const beat = (seconds: number) => other.query(HEARTBEAT_OF_020, [seconds]);

/** Applies what this version needs, beside a process of 0.2.0, which then ends. */
async function besideAnOlder(): Promise<void> {
  await beat(12);
  await upgrade();
  await beat(-1);
}

/** Why the drop waits where a session holds a lock. */
const KEPT = /^0034_dead_state waits: .* holds a lock that the change of schema "mirror" needs$/;
const USE_WHAT_IS_DROPPED = 'select previous_scheme from mirror_sync.registration';

/** Columns of both schemas' tables, `mirror.lists` → its columns. Without what each migration writes. */
async function columns(): Promise<Map<string, string[]>> {
  const found = await open.rows<{ name: string; all: string[] }>(`
    select format('%I.%I', table_schema, table_name) as name, array_agg(column_name::text order by column_name) as all
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_schema in ('mirror', 'mirror_sync') and table_type = 'BASE TABLE' and table_name not in ('migration', 'granted')
    group by 1`);
  return new Map(found.map(({ name, all }) => [name, all]));
}

const rowsOf = (table: string, all: readonly string[]) =>
  open.rows<Record<string, string>>(`select ${all.map((name) => `r."${name}"::text`).join()} from ${table} r`);
/** Each row's values of these columns, in a fixed order. */
const only = (rows: readonly Record<string, string>[], all: readonly string[]): string[] =>
  rows.map((row) => JSON.stringify(all.map((column) => row[column]))).toSorted();

describe('a mirror of 0.2.0', () => {
  it('has what an upgrade must keep', async () => {
    const [has] = await open.rows(`select
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
    const rows = new Map<string, Record<string, string>[]>();
    for (const [table, all] of before) rows.set(table, await rowsOf(table, all));
    expect(await upgrade()).toMatchObject({ waiting: undefined });
    expect(await pending(pendingMigrations)).toBe(0);
    expect(await whatIsMissing(open.db, MIGRATIONS)).toBeUndefined();

    const after = await columns();
    const gone: string[] = [];
    for (const [table, all] of before) {
      const kept = all.filter((column) => after.get(table)?.includes(column));
      gone.push(...all.filter((column) => !kept.includes(column)).map((column) => `${table}.${column}`));
      if (kept.length === 0) continue;
      const now = only(await rowsOf(table, kept), kept);
      expect([table, ...now]).toEqual([table, ...only(rows.get(table) ?? [], kept)]);
    }
    // Drops concern the daemon's state, not data.
    expect(gone.length).toBeGreaterThan(0);
    expect(gone.filter((each) => !each.startsWith('mirror_sync.'))).toEqual([]);
    expect([...rows.values()].flat().length).toBeGreaterThan(200);
    for (const view of 'changes companies freshness data_quality lists_live research_jobs_versions'.split(' '))
      expect([view, ...(await open.rows(`select * from mirror.${view}`))]).not.toEqual([view]);
  });

  it('gets all but drops while a program of 0.2.0 lives, which may go on and restart', async () => {
    await beat(12);
    const { applied, waiting } = await upgrade();
    expect(applied).toContain('0033_row_story');
    expect(waiting).toBe(
      '0034_dead_state waits until no program older than 0.3.0 runs: "start" of 0.2.0, process 42 on elsewhere',
    );
    expect([await pending(neededMigrations), await pending(pendingMigrations)]).toEqual([0, 1]);
    // Everything of 0.2.0 is there, and accepts the writes of 0.2.0.
    await other.query(USE_WHAT_IS_DROPPED);
    await beat(-1);
    expect(await upgrade()).toEqual({ applied: ['0034_dead_state'], waiting: undefined });
    await expect(other.query(USE_WHAT_IS_DROPPED)).rejects.toThrow('does not exist');
  });

  it('waits for a process of 0.2.0 that just begins, and accepts no heartbeat of one after the drop', async () => {
    await besideAnOlder();
    await other.query('begin');
    await beat(12);
    expect((await upgrade()).waiting).toMatch(KEPT);
    await other.query('commit');
    expect((await upgrade()).waiting).toContain('"start" of 0.2.0');
    await beat(-1);
    expect(await upgrade()).toMatchObject({ applied: ['0034_dead_state'] });
    await expect(beat(12)).rejects.toMatchObject({ constraint: 'process_version' });
  });

  it('works without the drop while a session uses what is dropped, and no older process can begin meanwhile', async () => {
    await besideAnOlder();
    await other.query(`begin; ${USE_WHAT_IS_DROPPED}`);
    const observer = await openTestDatabase(open.url);
    const seen = new AbortController();
    const upgrading = (async () => {
      while (!seen.signal.aborted) expect((await upgrade()).waiting).toMatch(KEPT);
    })();
    try {
      await eventually('the lock of the table of processes while the drop waits', async () => {
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
    expect(await pending(neededMigrations)).toBe(0);
    await other.query('commit');
    expect(await upgrade()).toMatchObject({ applied: ['0034_dead_state'] });
  });

  it('works with newer programs meanwhile: left columns have a default, or may be null', async () => {
    await besideAnOlder();
    const left = await columns();
    const required = await open.rows<{ name: string; column: string }>(`
      select format('%I.%I', table_schema, table_name) as name, column_name as column from information_schema.columns
      where table_schema in ('mirror', 'mirror_sync') and is_nullable = 'NO' and column_default is null`);
    await upgrade();
    const after = await columns();
    const dropped = required.filter(
      ({ name, column }) => left.has(name) && after.get(name)?.includes(column) === false,
    );
    expect(required.length).toBeGreaterThan(50);
    expect(dropped).toEqual([]);
  });
});
