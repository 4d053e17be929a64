import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { DatabaseUnavailable, Unusable } from '@research-mirror/runtime/errors';
import { type Db, onlyRow } from './db.ts';
import { throwIfMisread } from './pool.ts';
import { distributeNewTables, tablesBefore } from './citus.ts';
import { AHEAD_MS, hasCome } from './clock-step.ts';
import { afterMigration, beforeMigration, ensureGrants } from './roles.ts';
import { PATIENCE, retried, type Retrying } from './retried.ts';

interface MigrateOptions extends Pick<Retrying, 'clock' | 'patience'> {
  /** Opened with `MIGRATION_BOUNDS`, by DATABASE_URL_DIRECT if it is set. */
  readonly db: Db;
  /** Folder of the numbered files. */
  readonly folder: string;
  /** This program's. */
  readonly version: string;
}

/** A migration may take long, but one that is idle in its transaction hangs. */
export const MIGRATION_BOUNDS = { statement: 0, idle: 60_000 };

/** Errors of two programs that make the same object at once; XX000: "tuple concurrently updated". */
const CREATION_RACE = /^(?:23505|42P06|42P07|42701|42710|42723|XX000)$/;

/** For a migration that drops: heartbeats and pages wait behind its locks, and the daemon tries it again. */
const DROP_PATIENCE = { ...PATIENCE, attempts: 1, lockMs: 1_000 };

/**
 * Brings the database to this version: each file in a transaction of its own under a lock (lockMigrations), so that
 * programs may begin together, even through a transaction pooler. Then gives the group roles their first rights. A
 * migration that drops waits while an older program lives or a session uses what it drops: this version works without.
 * @returns names of the migrations that this call applied; why others wait
 * @throws Unusable, nothing touched: a newer database, an old PostgreSQL, missing rights; DatabaseUnavailable naming
 *   the session that keeps a lock
 */
export async function migrate(options: MigrateOptions) {
  const { db, folder, version } = options;
  const all = await readMigrations(folder);
  await checkServer(db);
  const failure = 'the database could not be migrated';
  const retrying = { ...options, failure, raced: CREATION_RACE };
  const applied: string[] = [];
  let waiting: string | undefined;
  while (waiting === undefined) {
    // Without the lock first: a database that is up to date is not touched.
    const [next] = pendingAfter(await appliedMigrations(db), all, db.schema, version);
    if (next === undefined) break;
    const { name, drops, oldestProgram } = next;
    const waitsFor = async (on: Db): Promise<string | undefined> => {
      const older = drops ? await olderProgram(on, oldestProgram) : undefined;
      return older && `${name} waits until no program older than ${oldestProgram} runs: ${older}`;
    };
    waiting = await waitsFor(db);
    if (waiting !== undefined) break;
    try {
      const patience = drops ? DROP_PATIENCE : options.patience;
      const { value } = await retried({ ...retrying, ...(patience && { patience }) }, async (trx) => {
        await lockMigrations(trx);
        const still = pendingAfter(await appliedMigrations(trx), all, trx.schema, version);
        // Another program was faster.
        if (!still.includes(next)) return { done: false };
        // No process begins before the transaction ends. Pages lock the account before any table that is dropped, so
        // there is no deadlock.
        if (drops) {
          await trx.sql`lock table ${trx.stateTable('account')}, ${trx.stateTable('process')} in exclusive mode`;
        }
        const why = await waitsFor(trx);
        if (why === undefined) await applyMigration(trx, next, folder);
        return { done: why === undefined, why };
      });
      if (value.done) applied.push(name);
      waiting = value.why;
    } catch (error) {
      if (!drops || !(error instanceof DatabaseUnavailable)) throw error;
      waiting = `${name} waits: ${error.message}`;
    }
  }
  await retried(retrying, ensureGrants);
  return { applied, waiting };
}

/** Message: a living process whose program is older than `oldest`. */
async function olderProgram(db: Db, oldest: string | null): Promise<string | undefined> {
  const { rows } = await db.sql<{ version: string; who: string }>`
    select version, format('"%s" of %s, process %s on %s', command, version, pid, host) as who
    from ${db.stateTable('process')} where not ${hasCome(sql`alive_until`, AHEAD_MS.aliveUntil)} order by started_at`;
  return rows.find(({ version }) => isTooOld(version, oldest))?.who;
}

/**
 * Makes this version's mirror in one transaction.
 * @returns false, nothing touched: there is a mirror already
 * @throws Unusable: an old PostgreSQL, missing rights, names that are taken
 */
export async function migrateEmpty(trx: Db, folder: string): Promise<boolean> {
  await checkServer(trx);
  await trx.raw(`set local lock_timeout = ${PATIENCE.lockMs}`);
  await lockMigrations(trx);
  if ((await appliedMigrations(trx)).length > 0) return false;
  for (const migration of await readMigrations(folder)) await applyMigration(trx, migration, folder);
  return true;
}

/** The migrations that `migrate` would apply, those that drop last. @throws Unusable as `migrate` does */
export async function pendingMigrations({ db, folder, version }: Omit<MigrateOptions, 'clock'>) {
  await checkServer(db);
  const all = await readMigrations(folder);
  return pendingAfter(await appliedMigrations(db), all, db.schema, version);
}

/** Names of pending migrations without which this program can't run. @throws Unusable as `migrate` does */
export async function neededMigrations(options: Omit<MigrateOptions, 'clock'>): Promise<readonly string[]> {
  return (await pendingMigrations(options)).flatMap(({ name, drops }) => (drops ? [] : [name]));
}

/** Names of migrations that a newer program applied. */
export async function unknownMigrations(db: Db, folder: string): Promise<string[]> {
  const known = new Set((await readMigrations(folder)).map(({ name }) => name));
  return (await appliedMigrations(db)).map(({ name }) => name).filter((name) => !known.has(name));
}

/**
 * Makes another program that migrates this schema wait until the transaction ends, up to its `lock_timeout`. The lock
 * is the first row of our own table, which takes rights. Without the table, making it is the lock: another program
 * waits at the catalogue, fails when this one commits, and tries again. Makes the schemas, too.
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

/** Applies one migration and records it, in a transaction that has the lock. */
async function applyMigration(trx: Db, next: Migration, folder: string): Promise<void> {
  if (next.name.startsWith('0001_')) await throwIfNamesTaken(trx, folder);
  const table = trx.stateTable('migration');
  // In a mirror of 0.1.0 the table lacks it. Checked first: ALTER TABLE would wait for all readers of the table.
  const { rows } = await trx.sql`select from pg_attribute
    where attrelid = to_regclass(format('%I.migration', ${trx.stateSchema}::text)) and attname = 'oldest_program'`;
  if (rows.length === 0) await trx.sql`alter table ${table} add column oldest_program text`;
  // First, since a program of 0.2.0 does it last, under another lock: the second of two that apply it fails here and
  // tries again.
  await trx.sql`insert into ${table} (name, checksum, applied_at, oldest_program)
    values (${next.name}, ${next.checksum}, clock_timestamp(), ${next.oldestProgram})`;
  const before = await beforeMigration(trx);
  const tables = await tablesBefore(trx);
  // PostgreSQL wants CREATE on the database for this, even if the schema is there.
  const own = next.text.replaceAll(/create schema if not exists "\{schema\}(_sync)?";/g, '');
  const text = own.replaceAll('{schema}', trx.schema);
  if (tables === undefined) await trx.raw(text);
  // For most changes of a distributed table Citus sends the whole text to the nodes, which accept one statement only.
  else for (const { statement } of splitStatements(text)) await trx.raw(statement);
  await afterMigration(trx, before);
  await distributeNewTables(trx, tables);
}

type Migration = Awaited<ReturnType<typeof readMigrations>>[number];
/** As the database's table records it. */
export type AppliedMigration = Omit<Migration, 'text' | 'drops'>;

/** The migrations that the database has. @throws Unusable: their table is missing or another program's */
async function appliedMigrations(db: Db): Promise<AppliedMigration[]> {
  const place = db.stateSchema;
  // From the catalogue, which also lists a schema that this user may not use.
  const { rows } = await db.sql<{ name: string; owner: string; ours: boolean }>`
    select relname as name, relowner::regrole::text as owner, (
      select count(*) = 3 from pg_attribute a
      where a.attrelid = c.oid and not a.attisdropped and a.attname in ('name', 'checksum', 'applied_at')) as ours
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${place} and c.relname in ('migration', 'api_key', 'scope', 'slot_block')`;
  const table = rows.find(({ name }) => name === 'migration');
  if (table === undefined && rows.length < 3) return [];
  if (table?.ours !== true) {
    throw new Unusable(
      table === undefined
        ? `the table ${place}.migration is missing, and the rest of the mirror is there. Nothing was touched. Bring it back, under its name or from a backup.`
        : `the table ${place}.migration of ${table.owner} belongs to another program: it is not a list of migrations. Nothing was touched. ` +
            `Set MIRROR_SCHEMA to another name than "${db.schema}", or move it away.`,
    );
  }
  // As JSON: in a mirror of 0.1.0 the table lacks the column.
  const applied = await db.sql<AppliedMigration>`
    select name, checksum, to_jsonb(m.*) ->> 'oldest_program' as "oldestProgram"
    from ${db.stateTable('migration')} m order by name`;
  return applied.rows;
}

/** The numbered files of `folder`, those that drop last: they may wait while others are applied. */
export async function readMigrations(folder: string) {
  const files = (await readdir(folder)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).sort();
  const all = await Promise.all(
    files.map(async (file) => {
      // A checkout may have changed the line ends.
      const text = (await readFile(join(folder, file), 'utf8')).replaceAll('\r\n', '\n');
      const checksum = createHash('sha256').update(text).digest('hex');
      // The oldest program that may run on the result; null in files older than that line.
      const oldestProgram = /^-- oldest program: (\S+)$/m.exec(text)?.[1] ?? null;
      // Drops what only older programs use.
      const drops = /^-- waits until no older program lives$/m.test(text);
      return { name: file.slice(0, -'.sql'.length), text, checksum, oldestProgram, drops };
    }),
  );
  return all.sort((one, other) => Number(one.drops) - Number(other.drops));
}

/** Lines of `objects.txt`, all that the migrations make: kind, and name with `{schema}` for MIRROR_SCHEMA. */
export async function migratedParts(folder: string): Promise<readonly string[]> {
  return (await readFile(join(folder, 'objects.txt'), 'utf8')).trimEnd().split('\n');
}

/**
 * The migrations that are still to be applied. In a rolling upgrade a newer program may have migrated the database:
 * this one runs on if every migration that it does not know allows that.
 * @throws Unusable: this program may not run on the database, or other files have made it
 */
export function pendingAfter(
  applied: readonly AppliedMigration[],
  all: readonly Migration[],
  schema: string,
  version: string,
): readonly Migration[] {
  const fileOf = (each: AppliedMigration): Migration | undefined =>
    all.find(({ name }) => name.slice(0, 4) === each.name.slice(0, 4));
  const changed = applied.find((each) => (fileOf(each)?.checksum ?? each.checksum) !== each.checksum);
  if (changed !== undefined) {
    throw new Unusable(
      `migration ${changed.name} of schema "${schema}" was applied with another text than this program's. ` +
        'Nothing was touched. Run the version that made the database, or set MIRROR_SCHEMA to a new schema.',
    );
  }
  const beyond = applied
    .filter((each) => fileOf(each) === undefined && isTooOld(version, each.oldestProgram))
    .map(({ name, oldestProgram: oldest }) => (oldest === null ? name : `${name} (for ${oldest} and later)`));
  if (beyond.length > 0) {
    throw new Unusable(
      `the database is newer than this program, research-mirror ${version}: its schema "${schema}" has ${beyond.join(', ')}. ` +
        'Nothing was touched. Run a newer version of research-mirror.',
    );
  }
  return all.filter((file) => applied.every((each) => fileOf(each) !== file));
}

/** @param oldest program that may run on what a migration makes; null: unknown */
function isTooOld(version: string, oldest: string | null): boolean {
  return oldest === null || version.localeCompare(oldest, 'en', { numeric: true }) < 0;
}

/**
 * Checks that no object has a name that the migrations need. Others may be there (MIRROR_SCHEMA=public).
 * @throws Unusable: what is in the way, whose it is, and the remedy
 */
async function throwIfNamesTaken(trx: Db, folder: string): Promise<void> {
  const { rows: present } = await trx.sql<{ what: string; key: string }>`
    with own as (
      select oid, substr(nspname, length(${trx.schema}) + 1) as suffix from pg_namespace
      where nspname in (${trx.schema}, ${trx.stateSchema})),
    object as (
      select 'pg_class'::regclass as class, c.oid, format('%s.%s', suffix, relname) as key, relowner as owner
      from pg_class c join own on own.oid = relnamespace
      union all
      select 'pg_type'::regclass, t.oid, format('%s.%s', suffix, typname), typowner
      from pg_type t join own on own.oid = typnamespace where typrelid = 0 and typelem = 0
      union all
      select 'pg_proc'::regclass, p.oid, format('%s.%s(%s)', suffix, proname, oidvectortypes(proargtypes)), proowner
      from pg_proc p join own on own.oid = pronamespace)
    select format('the %s %s of %s', i.type, i.identity, owner::regrole) as what, key
    from object, pg_identify_object(class, oid, 0) as i where key !~ '^_sync[.]migration(_pkey)?$' order by 1`;
  if (present.length === 0) return;
  // Kinds whose names are unique in a schema.
  const placed = /^(?:table|view|index|function) \{schema\}(.*)$/;
  const made = new Set((await migratedParts(folder)).map((part) => placed.exec(part)?.[1]));
  const clashes = present.filter(({ key }) => made.has(key)).map(({ what }) => what);
  if (clashes.length === 0) return;
  const named = clashes.slice(0, 5).join(', ');
  const more = clashes.length > 5 ? ` and ${clashes.length - 5} more` : '';
  throw new Unusable(
    `other objects have names that the mirror needs: ${named}${more}. Nothing was touched. ` +
      `Set MIRROR_SCHEMA to another name than "${trx.schema}" (the mirror also uses "${trx.schema}_sync"), or move them away.`,
  );
}

/** @returns the version, `15.18` @throws Unusable: the server, database or login can't have a mirror */
export async function checkServer(db: Db): Promise<string> {
  // Debian's is longer: `15.18 (Debian 15.18-0+deb12u1)`.
  const found = await db.sql<{ number: number; version: string; encoding: string }>`
    select current_setting('server_version_num')::int as number, current_setting('server_encoding') as encoding,
      split_part(current_setting('server_version'), ' ', 1) as version`;
  const { number, version, encoding } = onlyRow(found);
  if (number < 150_000) {
    throw new Unusable(
      `the database is PostgreSQL ${version}, but research-mirror needs 15 or newer. Nothing was touched.`,
    );
  }
  if (encoding !== 'UTF8') {
    throw new Unusable(
      `the database's encoding is ${encoding}, which can't hold every text of the service. Nothing was touched. ` +
        "Create a database with encoding 'UTF8' template template0.",
    );
  }
  await throwIfMisread(db);
  return version;
}

/** Splits SQL at semicolons outside of quotes, dollar quotes and comments. @returns statements and their offsets */
export function splitStatements(text: string): { readonly at: number; readonly statement: string }[] {
  const part = /(?:--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1|[^;])+/g;
  return [...text.matchAll(part)].flatMap(({ 0: found, index }) => {
    const lead = /^(?:\s|--[^\n]*\n)*/.exec(found)?.[0].length ?? 0;
    return found.length > lead ? [{ at: index + lead, statement: found.slice(lead) }] : [];
  });
}
