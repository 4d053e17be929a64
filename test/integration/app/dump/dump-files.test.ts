import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, type DumpHeader } from '../../../../src/app/dump/dump-header.ts';
import { migrate, MIGRATION_BOUNDS } from '../../../../src/db/migrations/run-migrations.ts';
import { readMigrations } from '../../../../src/db/migrations/migrations.ts';
import { programVersion } from '../../../../src/app/program-files.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import {
  createMigratedDatabase,
  MIGRATIONS,
  openTestDatabase,
  type MigratedDatabase,
} from '../../../support/databases/migrated-database.ts';
import { dumpTo, restoreFrom } from '../../../support/dump/dumped-mirror.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/postgres/postgres.ts';
import { makeFolder } from '../../../support/processes/program.ts';
import { seeded } from '../../../support/random.ts';

const folder = makeFolder();
const file = join(folder.path, 'mirror.dump');
const changed = join(folder.path, 'changed.dump');
let source: MigratedDatabase;
let target: TestDatabase;

beforeAll(async () => {
  source = await createMigratedDatabase();
  const account = await MirroredAccount.make(source, '1');
  const jobs = Array.from({ length: 300 }, (_, at) => ({
    job_id: at + 1,
    note: `${at} and ${at ** 3}`.repeat(20),
  }));
  await account.page('research_jobs', JSON.stringify(jobs));
  await dumpTo(file, source);
  target = await createTestDatabase();
});
afterAll(async () => {
  await source.drop();
  await target.drop();
  folder.remove();
});

/** Nothing of a mirror is in the target. */
async function untouched(): Promise<void> {
  const database = await openTestDatabase(target.url);
  const { rows } = await database.db.sql`select nspname from pg_namespace where nspname like 'mirror%'`;
  await database.close();
  expect(rows).toEqual([]);
}

/** Writes the dump with its text changed, well packed. */
async function rewritten(change: (text: string) => string): Promise<void> {
  const text = zstdDecompressSync(await readFile(file)).toString();
  await writeFile(
    changed,
    zstdCompressSync(change(text), { params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
  );
}

async function rewrittenHeader(change: (header: DumpHeader) => unknown): Promise<void> {
  await rewritten((text) => {
    const [format, header = '', , ...rest] = text.split('\n');
    const other = JSON.stringify(change(JSON.parse(header) as DumpHeader));
    return [format, other, digestOf(other), ...rest].join('\n');
  });
}

describe('a dump that is not whole', () => {
  it('is refused wherever it was cut, and wherever one bit of it is another', async () => {
    const bytes = await readFile(file);
    const random = seeded(7);
    for (let round = 0; round < 12; round += 1) {
      const at = Math.floor(random() * bytes.length);
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (round % 8));
      for (const content of [bytes.subarray(0, at), flipped]) {
        await writeFile(changed, content);
        await expect(restoreFrom(changed, target), `at ${at} of ${bytes.length}`).rejects.toThrow(
          /^it is (?:no dump of research-mirror|damaged)/,
        );
      }
    }
    await untouched();
  });

  it.each<[string, (text: string) => string]>([
    ['another word in its header', (text) => text.replace('"program":"', '"program":"1')],
    ['a row that was taken out', (text) => text.replace(/^1\t17\t.*\n/m, '')],
    ['a value that was changed', (text) => text.replace('17 and 4913', '17 and 4914')],
    ['a table that is missing', (text) => text.replace(/^\{"table":"mirror\.events"\}\n\\\.\n.*\n/m, '')],
    ['an end that is missing', (text) => text.replace(/\{"end":.*\n/, '')],
  ])('is told by %s', async (_, change) => {
    await rewritten(change);
    await expect(restoreFrom(changed, target)).rejects.toThrow(/^it is damaged/);
    await untouched();
  });

  it('is no way to run SQL', async () => {
    await rewrittenHeader((header) => ({
      ...header,
      tables: header.tables.map((table) => ({
        ...table,
        columns: [...table.columns, { name: 'x', type: 'int; drop schema public', comment: null }],
      })),
    }));
    await expect(restoreFrom(changed, target)).rejects.toThrow(/^it is damaged: it has a column of type/);
    await rewrittenHeader(({ tables: [first, ...rest], ...header }) => ({
      ...header,
      tables: [{ ...first, name: 'migration', schema: 'state' }, ...rest],
    }));
    await expect(restoreFrom(changed, target)).rejects.toThrow(/^it is damaged: it names a table/);
    await untouched();
  });
});

describe('a dump of another version', () => {
  it('that is newer is refused by name', async () => {
    const newer = { name: '9999_of_tomorrow', checksum: 'x', oldestProgram: null };
    await rewrittenHeader((header) => ({
      ...header,
      program: '9.0.0',
      migrations: [...header.migrations, newer],
    }));
    await expect(restoreFrom(changed, target)).rejects.toThrow(
      /newer than this program \(research-mirror 9\.0\.0 wrote it, with 9999_of_tomorrow\)/,
    );
    await rewritten((text) => text.replace('research-mirror dump 1', 'research-mirror dump 2'));
    await expect(restoreFrom(changed, target)).rejects.toThrow(/format .* is newer/);
    await untouched();
  });

  it('with another text of a migration is refused', async () => {
    await rewrittenHeader((header) => ({
      ...header,
      migrations: header.migrations.map((one, at) => (at === 3 ? { ...one, checksum: 'other' } : one)),
    }));
    await expect(restoreFrom(changed, target)).rejects.toThrow(/another text than this program/);
  });

  it('that is older is brought to this version', async () => {
    const all = await readMigrations(MIGRATIONS);
    // The version that has the first dumps; until there is a later one, this one.
    const names = all.map(({ name }) => name).slice(0, FIRST_DUMPED);
    const older = join(folder.path, 'migrations');
    await mkdir(older);
    for (const name of names) await copyFile(join(MIGRATIONS, `${name}.sql`), join(older, `${name}.sql`));
    const place = await createTestDatabase();
    const database = await openTestDatabase(place.url, { bounds: MIGRATION_BOUNDS });
    await migrate({ db: database.db, folder: older, version: programVersion(), clock: systemClock });
    await database.close();
    await dumpTo(changed, place);
    const again = await createTestDatabase();
    await restoreFrom(changed, again);
    const restored = await openTestDatabase(again.url);
    const { rows } = await restored.db.sql`select name from mirror_sync.migration order by name`;
    await restored.close();
    expect(rows).toEqual(all.map(({ name }) => ({ name })));
    await place.drop();
    await again.drop();
  });
});

/** How many migrations the oldest mirrors with `dump` have. */
const FIRST_DUMPED = 19;
