import { chmod, cp, lstat, mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';
import { findBinaries, whyNotRunnable } from './binaries.ts';
import { findLocation } from './location.ts';

const isRoot = process.getuid?.() === 0;
const folder = folderForEach();
const within = (...names: string[]): string => join(folder.path, ...names);
beforeEach(() => chmod(folder.path, 0o755));
afterEach(() => chmod(within('package', 'native', 'lib'), 0o755).catch(() => {}));

const found = (binaries: Parameters<typeof findLocation>[3]) =>
  findLocation(within('data'), isRoot, within('system'), binaries);

describe('findLocation', () => {
  it('copies binaries that can’t run where npm put them, and creates the links that npm can’t pack', async () => {
    const root = dirname((await findBinaries()).bin);
    const there = within('package', 'native');
    const notALink = async (path: string): Promise<boolean> => !(await lstat(path)).isSymbolicLink();
    await cp(root, there, { recursive: true, filter: notALink });
    // Another user can't enter it, or, for an ordinary user, nobody can write the missing links.
    if (isRoot) await chmod(within('package'), 0o700);
    else await chmod(join(there, 'lib'), 0o555);
    await mkdir(within('data'));
    const location = await found({ bin: join(there, 'bin'), version: '18.0.0-test', ofNpm: true });
    const copy = within(isRoot ? 'system' : 'data', 'postgres-18.0.0-test', 'native', 'bin');
    expect(location).toMatchObject({ bin: copy, pgData: within('data', 'pg18') });
    expect(await whyNotRunnable(copy, location.user)).toBeUndefined();
    expect(location.user === undefined).toBe(!isRoot);
  });

  it.each([
    [{ bin: '/usr/lib/postgresql/15/bin', version: '15.18', ofNpm: false }, 18, 'unset it'],
    [
      { bin: '/somewhere/bin', version: '18.4.0-beta.17', ofNpm: true },
      15,
      'Set MIRROR_PG_BIN to the folder of a PostgreSQL 15',
    ],
  ])(
    'refuses for $version a folder with a database of another major version, and begins none beside it',
    async (binaries, other, remedy) => {
      const [data, elsewhere, of] = [within('data'), within('elsewhere'), `pg${other}`];
      await mkdir(join(data, of), { recursive: true });
      const holds = `\\(${data}\\) holds a database of PostgreSQL ${other} \\(${of}\\)`;
      const refused = async (): Promise<void> => {
        const before = await readdir(data);
        const why = new RegExp(`${holds}.*${remedy}.*MIRROR_DATA_DIR`);
        await expect(found(binaries)).rejects.toThrow(why);
        expect(await readdir(data)).toEqual(before);
      };
      await refused();
      // It lies elsewhere where root began it.
      await mkdir(elsewhere);
      await rename(join(data, of), join(elsewhere, of));
      await writeFile(join(data, `${of}-location`), `${elsewhere}\n`);
      await refused();
      // Whichever of two counts, somebody would not expect it.
      await mkdir(join(data, `pg${Number.parseInt(binaries.version)}`));
      await refused();
    },
  );
});
