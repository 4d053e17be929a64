import { chmod, cp, lstat, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findBinaries, whyNotRunnable } from './binaries.ts';
import { findLocation } from './location.ts';

const isRoot = process.getuid?.() === 0;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'location-'));
  await chmod(folder, 0o755);
});
afterEach(async () => {
  await chmod(join(folder, 'package', 'native', 'lib'), 0o755).catch(() => {});
  await rm(folder, { recursive: true, force: true });
});

describe('findLocation', () => {
  it('copies binaries that can’t run where npm put them, and creates the links that npm can’t pack', async () => {
    const root = dirname((await findBinaries()).bin);
    const there = join(folder, 'package', 'native');
    const notALink = async (path: string): Promise<boolean> => !(await lstat(path)).isSymbolicLink();
    await cp(root, there, { recursive: true, filter: notALink });
    // Another user can't enter it, or, for an ordinary user, nobody can write the missing links.
    if (isRoot) await chmod(join(folder, 'package'), 0o700);
    else await chmod(join(there, 'lib'), 0o555);
    const dataDir = join(folder, 'data');
    await mkdir(dataDir);
    const location = await findLocation(dataDir, isRoot, join(folder, 'system'), {
      bin: join(there, 'bin'),
      version: '18.0.0-test',
      ofNpm: true,
    });
    const copy = join(folder, isRoot ? 'system' : 'data', 'postgres-18.0.0-test', 'native', 'bin');
    expect(location).toMatchObject({ bin: copy, pgData: join(dataDir, 'pg18') });
    expect(await whyNotRunnable(copy, location.user)).toBeUndefined();
    expect(location.user === undefined).toBe(!isRoot);
  });

  it.each([
    [{ bin: '/usr/lib/postgresql/15/bin', version: '15.18', ofNpm: false }, 18, 'or unset it'],
    [
      { bin: '/somewhere/bin', version: '18.4.0-beta.17', ofNpm: true },
      15,
      'set MIRROR_PG_BIN to the folder of a PostgreSQL 15',
    ],
  ])(
    'refuses for $version a folder with a database of another major version, and begins none beside it',
    async (binaries, other, remedy) => {
      const elsewhere = join(folder, 'elsewhere');
      const dataDir = join(folder, 'data');
      await mkdir(join(dataDir, `pg${other}`), { recursive: true });
      const refused = async (): Promise<void> => {
        const before = await readdir(dataDir);
        await expect(findLocation(dataDir, isRoot, join(folder, 'system'), binaries)).rejects.toThrow(
          new RegExp(
            `\\(${dataDir}\\) holds a database of PostgreSQL ${other} \\(pg${other}\\).*${remedy}.*MIRROR_DATA_DIR`,
          ),
        );
        expect(await readdir(dataDir)).toEqual(before);
      };
      await refused();
      // It lies elsewhere where root began it.
      await mkdir(elsewhere);
      await rename(join(dataDir, `pg${other}`), join(elsewhere, `pg${other}`));
      await writeFile(join(dataDir, `pg${other}-location`), `${elsewhere}\n`);
      await refused();
      // Whichever of two counts, somebody would not expect it.
      await mkdir(join(dataDir, `pg${Number.parseInt(binaries.version)}`));
      await refused();
    },
  );
});
