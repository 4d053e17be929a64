import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Unusable } from '@research-mirror/runtime/errors';

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

/** The last migration without a line for the oldest program. */
const LAST_SILENT = 3;

/**
 * The numbered files of `folder` in order.
 * @throws RangeError: a number is used twice, or a line is missing (our defect)
 */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).sort();
  for (const [index, name] of names.entries()) {
    if (index > 0 && numberOf(name) === numberOf(names[index - 1] ?? '')) {
      throw new RangeError(`two migrations have one number: ${names[index - 1]} and ${name}`);
    }
  }
  return Promise.all(
    names.map(async (file) => {
      // A checkout may have changed the line ends.
      const text = (await readFile(join(folder, file), 'utf8')).replaceAll('\r\n', '\n');
      const checksum = createHash('sha256').update(text).digest('hex');
      return { name: file.replace(/\.sql$/, ''), text, checksum, oldestProgram: oldestProgram(file, text) };
    }),
  );
}

/** Reads the line `-- oldest program: 0.2.0`. */
function oldestProgram(file: string, text: string): string | null {
  const stated = /^-- oldest program: (\S+)$/m.exec(text)?.[1];
  if (stated === undefined && numberOf(file) <= LAST_SILENT) return null;
  if (stated === undefined || !VERSION.test(stated)) {
    throw new RangeError(
      `${file} must state the oldest program that may run on what it makes: -- oldest program: 0.2.0`,
    );
  }
  return stated;
}

function numberOf(name: string): number {
  return Number(name.slice(0, 4));
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
  const known = new Map(all.map((migration) => [migration.name, migration]));
  const numbers = new Set(all.map(({ name }) => numberOf(name)));
  const changed = applied.find(({ name, checksum }) =>
    known.has(name) ? known.get(name)?.checksum !== checksum : numbers.has(numberOf(name)),
  );
  if (changed !== undefined) {
    throw new Unusable(
      `migration ${changed.name} of schema "${schema}" was applied with another text than this program's: ` +
        'nothing was touched; run the version that made the database, or set MIRROR_SCHEMA to a new schema.',
    );
  }
  const beyond = unknownAmong(applied, all).filter(
    ({ oldestProgram: oldest }) => oldest === null || isOlder(version, oldest),
  );
  if (beyond.length > 0) {
    const named = beyond.map(({ name, oldestProgram: oldest }) =>
      oldest === null ? name : `${name} (for ${oldest} and later)`,
    );
    throw new Unusable(
      `the database is newer than this program, research-mirror ${version}: its schema "${schema}" has ${named.join(', ')}. ` +
        'Nothing was touched; run a newer version of research-mirror.',
    );
  }
  const done = new Set(applied.map(({ name }) => name));
  return all.filter(({ name }) => !done.has(name));
}

/** Three numbers, as package.json and the migrations write them: `0.2.0`. */
const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;

/** Whether program version `one` came before `other`. @throws RangeError where one is no version (our defect) */
export function isOlder(one: string, other: string): boolean {
  const [left, right] = [numbersOf(one), numbersOf(other)];
  const at = left.findIndex((number, index) => number !== right[index]);
  return at >= 0 && (left[at] ?? 0) < (right[at] ?? 0);
}

function numbersOf(text: string): readonly number[] {
  const match = VERSION.exec(text);
  if (match === null) throw new RangeError(`${JSON.stringify(text)} is no version`);
  return match.slice(1).map(Number);
}
