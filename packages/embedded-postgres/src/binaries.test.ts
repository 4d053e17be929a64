import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findBinaries } from './binaries.ts';
import { folderForEach } from '@research-mirror/runtime/testing/folder-for-each';

const folder = folderForEach();

/** A `postgres` and an `initdb` that say this of themselves. */
async function install(postgres: string): Promise<void> {
  for (const name of ['postgres', 'initdb']) {
    await writeFile(join(folder.path, name), `#!/bin/sh\necho "${name} (PostgreSQL) ${postgres}"\n`);
    await chmod(join(folder.path, name), 0o755);
  }
}

describe('the PostgreSQL of MIRROR_PG_BIN', () => {
  it.each([
    ['15.18 (Debian 15.18-0+deb12u1)', '15.18'],
    ['18.6', '18.6'],
  ])('may be %s', async (said, version) => {
    await install(said);
    expect(await findBinaries(folder.path)).toEqual({ bin: folder.path, version, ofNpm: false });
  });

  it.each(['14.24', '19.1', '19devel'])('may not be %s: 15 to 18 are tested', async (version) => {
    await install(version);
    await expect(findBinaries(folder.path)).rejects.toThrow(
      `MIRROR_PG_BIN (${folder.path}) is PostgreSQL ${version}. Set it to the folder of a PostgreSQL 15 to 18,`,
    );
  });

  it('must be there, and run', async () => {
    await expect(findBinaries(folder.path)).rejects.toThrow(/has no (postgres|initdb) that runs \(.*ENOENT/);
    await install('18.6');
    await writeFile(join(folder.path, 'initdb'), '#!/bin/sh\necho "no libpq" >&2\nexit 1\n');
    await expect(findBinaries(folder.path)).rejects.toThrow(/has no initdb that runs \(no libpq\)/);
  });
});
