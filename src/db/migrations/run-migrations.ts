import { type Db, onlyRow } from '../connection/db.ts';
import { sql } from 'kysely';
import { Unusable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import { distributeNewTables, tablesBefore } from '../distribution/citus.ts';
import { afterMigration, beforeMigration, ensureGrants } from '../roles/grants.ts';
import {
  type AppliedMigration,
  type Migration,
  pendingAfter,
  readMigrations,
  throwIfNamesTaken,
  unknownAmong,
} from './migrations.ts';
import { throwIfMisread } from '../connection/pinned-settings.ts';
import { type Patience, PATIENCE, retried } from './retried.ts';

export interface MigrateOptions {
  /** Opened with `MIGRATION_BOUNDS`, by DATABASE_URL_DIRECT where there is one. */
  readonly db: Db;
  /** Folder of the numbered files. */
  readonly folder: string;
  /** Of this program: decides on which databases of newer programs it may run. */
  readonly version: string;
  readonly clock: Clock;
  /** Default `PATIENCE`. */
  readonly patience?: Patience;
}

/** A migration may take long; one that is idle in its transaction hangs. */
export const MIGRATION_BOUNDS = { statement: 0, idle: 60_000 };

/** The oldest PostgreSQL that is supported, as `server_version_num`. */
const OLDEST = 150_000;

/** What two programs come to that make the same thing at once; XX000: "tuple concurrently updated". */
const MADE_TWICE = /^(?:23505|42P06|42P07|42701|42710|42723|XX000)$/;

/**
 * Brings the database to this version: each file in a transaction of its own under a lock (lockMigrations), so that any
 * number of programs may begin together, even through a transaction pooler. Then grants the group roles' first rights.
 * @returns names of the migrations that this call applied
 * @throws Unusable, nothing touched: a newer database, an old PostgreSQL, missing rights; DatabaseUnavailable, with the
 *   session's name, where another one keeps a lock
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const { db, folder, version } = options;
  const retrying = {
    ...options,
    failure: 'the database could not be brought to this version',
    raced: MADE_TWICE,
  };
  const all = await readMigrations(folder);
  await checkServer(db);
  const applied: string[] = [];
  // Asks without the lock first: a database that is up to date is not touched.
  while (pendingAfter(await appliedMigrations(db), all, db.schema, version).length > 0) {
    const { value: name } = await retried(retrying, (trx) => applyNext(trx, all, options));
    if (name !== undefined) applied.push(name);
  }
  await retried(retrying, ensureGrants);
  return applied;
}

/**
 * Makes this version's mirror in an empty place, in one transaction.
 * @returns false, nothing touched, where there is a mirror already
 * @throws Unusable: an old PostgreSQL, missing rights, names that are taken
 */
export async function migrateEmpty(trx: Db, folder: string): Promise<boolean> {
  const all = await readMigrations(folder);
  await checkServer(trx);
  await trx.raw(`set local lock_timeout = ${PATIENCE.lockMs}`);
  await lockMigrations(trx);
  if ((await appliedMigrations(trx)).length > 0) return false;
  await throwIfNamesTaken(trx, folder);
  for (const migration of all) await applyMigration(trx, migration);
  return true;
}

/**
 * Names of the migrations that `migrate` would apply; changes nothing.
 * @throws Unusable as `migrate` does
 */
export async function pendingMigrations(options: Pick<MigrateOptions, 'db' | 'folder' | 'version'>): Promise<string[]> {
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
  trx: Db,
  all: readonly Migration[],
  { folder, version }: MigrateOptions,
): Promise<string | undefined> {
  await lockMigrations(trx);
  const applied = await appliedMigrations(trx);
  const [next] = pendingAfter(applied, all, trx.schema, version);
  if (next === undefined) return undefined;
  if (applied.length === 0) await throwIfNamesTaken(trx, folder);
  await applyMigration(trx, next);
  return next.name;
}

/**
 * Another program that migrates this schema waits until the transaction ends, up to its `lock_timeout`. The lock is the
 * first row of our own table, which nobody without rights can take. Where there is no table, making it is the lock:
 * another program waits at the catalogue, fails when this one commits, and looks again. Makes the schemas, too.
 */
export async function lockMigrations(trx: Db): Promise<void> {
  await trx.raw(`set local citus.multi_shard_modify_mode to 'sequential'; set local default_table_access_method = heap;
    select set_config('transaction_timeout', '0', true)
      where current_setting('transaction_timeout', true) is not null`);
  const { rows } = await trx.sql<{ name: string; made: boolean }>`
    select n.nspname as name, c.oid is not null as made from pg_namespace n
      left join pg_class c on c.relnamespace = n.oid and c.relname = 'migration' and n.nspname = ${trx.stateSchema}
    where n.nspname in (${trx.schema}, ${trx.stateSchema})`;
  if (rows.some(({ made }) => made)) {
    await trx.sql`select name from ${trx.stateTable('migration')} order by name limit 1 for no key update`;
    return;
  }
  const makeSchema = async (schema: string): Promise<unknown> =>
    rows.some(({ name }) => name === schema) || trx.sql`create schema ${sql.id(schema)}`;
  await makeSchema(trx.stateSchema);
  await trx.sql`create table ${trx.stateTable('migration')} (
    name text primary key, checksum text not null, applied_at timestamptz not null, oldest_program text)`;
  await makeSchema(trx.schema);
}

const CREATE_SCHEMA = /create schema if not exists "\{schema\}(_sync)?";/g;

/** Applies one migration and records it, in a transaction that has the lock. */
async function applyMigration(trx: Db, next: Migration): Promise<void> {
  const table = trx.stateTable('migration');
  // In a mirror of 0.1.0 the table lacks it. Asked first: the change would wait for all who look at the table.
  const { rows } = await trx.sql`select from pg_attribute
    where attrelid = to_regclass(format('%I.migration', ${trx.stateSchema}::text)) and attname = 'oldest_program'`;
  if (rows.length === 0) await trx.sql`alter table ${table} add column oldest_program text`;
  // First of all, as a program of 0.2.0 does it last, under another lock: of two that apply the same one, the second
  // fails here, and looks again.
  await trx.sql`insert into ${table} (name, checksum, applied_at, oldest_program)
    values (${next.name}, ${next.checksum}, clock_timestamp(), ${next.oldestProgram})`;
  const before = await beforeMigration(trx);
  const tables = await tablesBefore(trx);
  // PostgreSQL wants CREATE on the database for it, even of a schema that is there.
  const text = next.text.replaceAll(CREATE_SCHEMA, '').replaceAll('{schema}', trx.schema);
  if (tables === undefined) await trx.raw(text);
  // Citus sends the whole text to the nodes for most changes of a distributed table: they refuse more than one statement.
  else for (const { statement } of splitStatements(text)) await trx.raw(statement);
  await afterMigration(trx, before);
  await distributeNewTables(trx, tables);
}

/** The migrations that the database has. @throws Unusable where the place of their table is taken */
export async function appliedMigrations(db: Db): Promise<AppliedMigration[]> {
  const place = db.stateSchema;
  // By the catalogue, which also lists a schema that this user may not use.
  const { rows } = await db.sql<{ name: string; owner: string; ours: boolean }>`
    select relname as name, relowner::regrole::text as owner, (
      select count(*) = 3 from pg_attribute a
      where a.attrelid = c.oid and not a.attisdropped and a.attname in ('name', 'checksum', 'applied_at')) as ours
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${place} and c.relname in ('migration', 'api_key', 'scope', 'slot_block')`;
  const table = rows.find(({ name }) => name === 'migration');
  if (table === undefined) {
    if (rows.length < 3) return [];
    throw new Unusable(
      `the table ${place}.migration is missing, and the rest of the mirror is there: bring it back, under its name or ` +
        'from a backup. Nothing was touched.',
    );
  }
  if (!table.ours) {
    throw new Unusable(
      `the table ${place}.migration of ${table.owner} is something else's: it is no list of migrations. Nothing was touched; ` +
        `set MIRROR_SCHEMA to another name than "${db.schema}", or move it away.`,
    );
  }
  // As JSON: in a mirror of 0.1.0 the table lacks the column.
  const applied = await db.sql<AppliedMigration>`
    select name, checksum, to_jsonb(m.*) ->> 'oldest_program' as "oldestProgram"
    from ${sql.id(place, 'migration')} m order by name`;
  return applied.rows;
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

/** Cuts SQL at semicolons outside of quotes, dollar quotes and comments. @returns each statement, and where it begins */
export function splitStatements(text: string): { readonly at: number; readonly statement: string }[] {
  const found: { at: number; statement: string }[] = [];
  const token = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1|;/g;
  let begin = 0;
  const take = (end: number): void => {
    const statement = text.slice(begin, end);
    const lead = /^(?:\s|--[^\n]*\n)*/.exec(statement)?.[0].length ?? 0;
    if (statement.length > lead) found.push({ at: begin + lead, statement: statement.slice(lead) });
    begin = end + 1;
  };
  for (const match of text.matchAll(token)) if (match[0] === ';') take(match.index);
  take(text.length);
  return found;
}
