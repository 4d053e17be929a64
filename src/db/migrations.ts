import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Unusable } from '../model/errors.ts';

/** A file of the migrations' folder: `0001_mirror.sql`. Never edited once it has been released. */
export interface Migration {
  readonly name: string;
  /** SQL with `{schema}` where the schema's name goes. */
  readonly text: string;
  readonly checksum: string;
}

/** What the database's table says of an applied one. */
export interface AppliedMigration {
  readonly name: string;
  readonly checksum: string;
}

/** The numbered files of `folder` in order. @throws RangeError for numbers that are missing or used twice (a defect of ours) */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).sort();
  for (const [index, name] of names.entries()) {
    if (Number(name.slice(0, 4)) !== index + 1) {
      throw new RangeError(
        `migrations must be numbered from 0001 without gaps: ${name} is number ${index + 1}`,
      );
    }
  }
  return Promise.all(
    names.map(async (file) => {
      // A checkout may have turned line ends.
      const text = (await readFile(join(folder, file), 'utf8')).replaceAll('\r\n', '\n');
      const checksum = createHash('sha256').update(text).digest('hex');
      return { name: file.replace(/\.sql$/, ''), text, checksum };
    }),
  );
}

/**
 * What is still to be applied.
 * @throws Unusable for a database that is newer than this program, or was made by other files
 */
export function pendingAfter(
  applied: readonly AppliedMigration[],
  all: readonly Migration[],
  schema: string,
): readonly Migration[] {
  const known = new Map(all.map((migration) => [migration.name, migration]));
  const unknown = applied.filter(({ name }) => !known.has(name));
  if (unknown.length > 0) {
    throw new Unusable(
      `the database is newer than this program: its schema "${schema}" has ${unknown.map(({ name }) => name).join(', ')}. ` +
        'Nothing was touched; run a newer version of research-mirror.',
    );
  }
  const changed = applied.find(({ name, checksum }) => known.get(name)?.checksum !== checksum);
  if (changed !== undefined) {
    throw new Unusable(
      `migration ${changed.name} of schema "${schema}" was applied with another text than this program's: ` +
        'nothing was touched; run the version that made the database, or set MIRROR_SCHEMA to a new schema.',
    );
  }
  return all.slice(applied.length);
}
