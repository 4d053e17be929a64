import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';
import type { Db } from '../connection/db.ts';

/** A file of the migrations' folder: `0001_mirror.sql`. Never edited once it has been released. */
export interface Migration {
  readonly name: string;
  /** SQL with `{schema}` where the schema's name goes. */
  readonly text: string;
  readonly checksum: string;
  /** Version of the oldest program that may run on what it makes; null for files older than that line. */
  readonly oldestProgram: string | null;
}

/** An applied migration as the database's table records it. */
export type AppliedMigration = Pick<Migration, 'name' | 'checksum' | 'oldestProgram'>;

/** The numbered files of `folder` in order. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (file) => {
      // A checkout may have changed the line ends.
      const text = (await readFile(join(folder, file), 'utf8')).replaceAll('\r\n', '\n');
      const checksum = createHash('sha256').update(text).digest('hex');
      const oldestProgram = /^-- oldest program: (\S+)$/m.exec(text)?.[1] ?? null;
      return { name: file.replace(/\.sql$/, ''), text, checksum, oldestProgram };
    }),
  );
}

/** `objects.txt`: what the migrations add up to, a line each: its kind, its name with `{schema}` for MIRROR_SCHEMA. */
export async function migratedParts(folder: string): Promise<readonly string[]> {
  return (await readFile(join(folder, 'objects.txt'), 'utf8')).trimEnd().split('\n');
}

/** Those of a newer program: none of `all` has their name. */
export function unknownAmong(
  applied: readonly AppliedMigration[],
  all: readonly Migration[],
): readonly AppliedMigration[] {
  const known = new Set(all.map(({ name }) => name));
  return applied.filter(({ name }) => !known.has(name));
}

/**
 * The migrations that are still to be applied. A newer program may have migrated the database where every migration
 * that this program does not know allows it: in a rolling upgrade both run side by side.
 * @param version of this program
 * @throws Unusable: this program may not run on the database, or other files have made it
 */
export function pendingAfter(
  applied: readonly AppliedMigration[],
  all: readonly Migration[],
  schema: string,
  version: string,
): readonly Migration[] {
  const unknown = unknownAmong(applied, all);
  const changed = applied.find((each) =>
    unknown.includes(each)
      ? all.some(({ name }) => name.slice(0, 4) === each.name.slice(0, 4))
      : all.every(({ checksum }) => checksum !== each.checksum),
  );
  if (changed !== undefined) {
    throw new Unusable(
      `migration ${changed.name} of schema "${schema}" was applied with another text than this program's: ` +
        'nothing was touched; run the version that made the database, or set MIRROR_SCHEMA to a new schema.',
    );
  }
  const beyond = unknown
    .filter(({ oldestProgram: oldest }) => oldest === null || isOlder(version, oldest))
    .map(({ name, oldestProgram: oldest }) => (oldest === null ? name : `${name} (for ${oldest} and later)`));
  if (beyond.length > 0) {
    throw new Unusable(
      `the database is newer than this program, research-mirror ${version}: its schema "${schema}" has ${beyond.join(', ')}. ` +
        'Nothing was touched; run a newer version of research-mirror.',
    );
  }
  return all.filter(({ name }) => applied.every((each) => each.name !== name));
}

/** Whether program version `one`, three numbers such as `0.2.0`, came before `other`. */
export function isOlder(one: string, other: string): boolean {
  return one.localeCompare(other, 'en', { numeric: true }) < 0;
}

/** Objects named in a message; the rest is counted. */
const NAMED = 5;
/** What of objects.txt has a name of its own in its schema. */
const PLACED = /^(?:table|view|index|function) \{schema\}(.*)$/;

/**
 * Refuses a schema that has an object which any of the migrations makes, except their own table; it may contain others
 * (MIRROR_SCHEMA=public). To be called in the transaction of the first migration, before it.
 * @param folder of the migrations
 * @throws Unusable: what is in the way, whose it is, and the remedy
 */
export async function throwIfNamesTaken(trx: Db, folder: string): Promise<void> {
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
  const made = new Set((await migratedParts(folder)).map((part) => PLACED.exec(part)?.[1]));
  const clashes = present.filter(({ key }) => made.has(key));
  if (clashes.length === 0) return;
  const named = clashes.slice(0, NAMED).map(({ what }) => what);
  const more = clashes.length > NAMED ? ` and ${clashes.length - NAMED} more` : '';
  throw new Unusable(
    `the place of the mirror is taken by something else: ${named.join(', ')}${more}. Nothing was touched; ` +
      `set MIRROR_SCHEMA to another name than "${trx.schema}" (the mirror also uses "${trx.schema}_sync"), or move them away.`,
  );
}
