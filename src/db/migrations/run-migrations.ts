import { type Db, onlyRow } from '../connection/db.ts';
import { sql } from 'kysely';
import { DatabaseUnavailable, Unusable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import { distributeNewTables, tablesBefore } from '../distribution/tables-of-accounts.ts';
import { afterMigration, beforeMigration, ensureGrants } from '../roles/grants.ts';
import {
  type AppliedMigration,
  type Migration,
  pendingAfter,
  readMigrations,
  unknownAmong,
} from './migrations.ts';
import { throwIfMisread } from '../connection/pinned-settings.ts';
import { splitStatements } from './split-statements.ts';
import { sqlState } from '../connection/sql-state.ts';
import { throwIfNamesTaken } from './names-taken.ts';

export interface MigrateOptions {
  /** Opened with `MIGRATION_BOUNDS`, by DATABASE_URL_DIRECT where there is one. */
  readonly db: Db;
  /** Folder of the numbered files. */
  readonly folder: string;
  /** Of this program: decides on which databases of newer programs it may run. */
  readonly version: string;
  readonly clock: Clock;
}

/** A migration may take long; one that is idle in its transaction hangs. */
export const MIGRATION_BOUNDS = { statement: 0, idle: 60_000 };

/** The oldest PostgreSQL that is supported, as `server_version_num`. */
const OLDEST = 150_000;

/**
 * How long a migration waits for a lock on a table before it gives way and tries again: whoever waits for a table
 * blocks all who come later.
 */
const LOCK_TIMEOUT = '3s';
const ATTEMPTS = 10;
/** Milliseconds after the first attempt, longer after each further one. */
const BACK_OFF = 100;

/**
 * Brings the database to this version: each file in a transaction of its own under a transaction-level lock, so that
 * any number of programs may begin together, even through a transaction pooler. Then grants the group roles' first
 * rights.
 * @returns names of the migrations that this call applied
 * @throws Unusable, nothing touched: a newer database, an old PostgreSQL, missing rights
 */
export async function migrate({ db, folder, version, clock }: MigrateOptions): Promise<string[]> {
  const all = await readMigrations(folder);
  await checkServer(db);
  const applied: string[] = [];
  // Asks without the lock first: a database that is up to date is not touched.
  while (pendingAfter(await appliedMigrations(db), all, db.schema, version).length > 0) {
    const name = await retried(clock, () => applyNext(db, all, version));
    if (name !== undefined) applied.push(name);
  }
  await retried(clock, () => ensureGrants(db));
  return applied;
}

/**
 * Names of the migrations that `migrate` would apply; changes nothing.
 * @throws Unusable as `migrate` does
 */
export async function pendingMigrations(options: Omit<MigrateOptions, 'clock'>): Promise<string[]> {
  const { db, folder, version } = options;
  const all = await readMigrations(folder);
  await checkServer(db);
  return pendingAfter(await appliedMigrations(db), all, db.schema, version).map(({ name }) => name);
}

/** Names of the database's migrations that are not in `folder`: a newer program applied them, beside which this one may run. */
export async function unknownMigrations(db: Db, folder: string): Promise<string[]> {
  const all = await readMigrations(folder);
  return unknownAmong(await appliedMigrations(db), all).map(({ name }) => name);
}

/** Applies the first pending migration, under the lock; undefined: another program was faster. */
async function applyNext(
  db: Db,
  all: readonly Migration[],
  version: string,
): Promise<string | undefined> {
  return db.transaction(async (trx) => {
    await lockMigrations(trx);
    const applied = await appliedMigrations(trx);
    const [next] = pendingAfter(applied, all, trx.schema, version);
    if (next === undefined) return undefined;
    if (applied.length === 0) await throwIfNamesTaken(trx, all);
    await applyMigration(trx, next);
    return next.name;
  });
}

/** Whoever else migrates this schema waits until the transaction ends. */
export async function lockMigrations(trx: Db): Promise<void> {
  await trx.raw(`set local citus.multi_shard_modify_mode to 'sequential'`);
  await trx.raw(`set local default_table_access_method = heap`);
  await trx.sql`select set_config('transaction_timeout', '0', true)
    where current_setting('transaction_timeout', true) is not null`;
  // Without LOCK_TIMEOUT: another program's migration may take longer.
  await trx.sql`select pg_advisory_xact_lock(hashtextextended(${`research-mirror migrate ${trx.schema}`}, 0))`;
  await trx.raw(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
}

/** Applies one migration and records it, in a transaction that has the lock. */
export async function applyMigration(trx: Db, next: Migration): Promise<void> {
  const table = trx.stateTable('migration');
  await trx.sql`create schema if not exists ${sql.id(trx.stateSchema)}`;
  await trx.sql`create table if not exists ${table} (
    name text primary key, checksum text not null, applied_at timestamptz not null)`;
  // In a mirror of 0.1.0 the table lacks it.
  await trx.sql`alter table ${table} add column if not exists oldest_program text`;
  const before = await beforeMigration(trx);
  const tables = await tablesBefore(trx);
  const text = next.text.replaceAll('{schema}', trx.schema);
  if (tables === undefined) await trx.raw(text);
  // Citus sends the whole text to the nodes for most changes of a distributed table: they refuse more than one statement.
  else for (const { statement } of splitStatements(text)) await trx.raw(statement);
  await afterMigration(trx, before);
  await distributeNewTables(trx, tables);
  await trx.sql`insert into ${table} (name, checksum, applied_at, oldest_program)
    values (${next.name}, ${next.checksum}, clock_timestamp(), ${next.oldestProgram})`;
}

/** The migrations that the database has. @throws Unusable where the place of their table is taken */
export async function appliedMigrations(db: Db): Promise<AppliedMigration[]> {
  const place = `${checkedName(db.schema)}_sync`;
  // By the catalogue, which also lists a schema that this user may not use.
  const { rows } = await db.sql<{ owner: string; ours: boolean }>`
    select relowner::regrole::text as owner, (
      select count(*) = 3 from pg_attribute a
      where a.attrelid = c.oid and not a.attisdropped and a.attname in ('name', 'checksum', 'applied_at')) as ours
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${place} and c.relname = 'migration'`;
  const table = rows[0];
  if (table === undefined) return [];
  if (!table.ours) {
    throw new Unusable(
      `the table ${place}.migration of ${table.owner} is something else's: it is no list of migrations. Nothing was touched; ` +
        `set MIRROR_SCHEMA to another name than "${db.schema}", or move it away.`,
    );
  }
  // As JSON: in a mirror of 0.1.0 the table lacks the column.
  const applied = await db.sql<AppliedMigration>`
    select name, checksum, to_jsonb(m) ->> 'oldest_program' as "oldestProgram"
    from ${sql.id(place, 'migration')} m order by name`;
  return applied.rows;
}

/** The schema's name goes into SQL text as it is; MIRROR_SCHEMA allows only such names. */
function checkedName(schema: string): string {
  if (!/^[a-z_][a-z0-9_]{0,49}$/.test(schema)) {
    throw new Unusable(`MIRROR_SCHEMA ${JSON.stringify(schema)} must be a plain lower-case name`);
  }
  return schema;
}

/** @throws Unusable for a server, a database or a login with which no mirror can be */
export async function checkServer(db: Db): Promise<void> {
  const found = await db.sql<{ number: number; version: string; encoding: string }>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as version,
      current_setting('server_encoding') as encoding`;
  const server = onlyRow(found);
  if (server.number < OLDEST) {
    throw new Unusable(
      `the database is PostgreSQL ${server.version}: research-mirror needs 15 or newer. Nothing was touched.`,
    );
  }
  if (server.encoding !== 'UTF8') {
    throw new Unusable(
      `the database's encoding is ${server.encoding}, which can't hold every text of the service: create one with ` +
        "encoding 'UTF8' template template0. Nothing was touched.",
    );
  }
  await throwIfMisread(db);
}

/** Repeats the task after a lock's time-out, a deadlock, or a race with another program's DDL. */
async function retried<T>(clock: Clock, task: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await task();
    } catch (error) {
      const state = sqlState(error) ?? '';
      // 23505 and 42710: two programs made the same role or schema; XX000: "tuple concurrently updated".
      if (!['55P03', '40P01', '40001', '23505', '42710', '42P06', 'XX000'].includes(state)) throw error;
      if (attempt === ATTEMPTS) {
        throw new DatabaseUnavailable(
          'the database could not be brought to this version: somebody holds a lock on its tables',
          { cause: error },
        );
      }
      await clock.sleep(BACK_OFF * attempt);
    }
  }
}
