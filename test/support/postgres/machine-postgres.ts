import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isTested } from '../optional.ts';
import { startTestServer } from './postgres.ts';

/** Where Debian, Red Hat and Homebrew put the versions that are older than the one that npm brings. */
const PLACES = [17, 16, 15].flatMap((major) => [
  `/usr/lib/postgresql/${major}/bin`,
  `/usr/pgsql-${major}/bin`,
  `/opt/homebrew/opt/postgresql@${major}/bin`,
]);
const MISSING = 'no PostgreSQL 15 to 17 is installed (apt-get install postgresql, brew install postgresql@17)';

/** A PostgreSQL of the machine's, and its major version. Undefined where there is none. */
export const MACHINE_POSTGRES = PLACES.filter((bin) => existsSync(join(bin, 'initdb'))).map((bin) => ({
  bin,
  major: Number(/\d+/.exec(bin)?.[0]),
}))[0];

/**
 * Whether tests on it run.
 * @param untested what is not tested without it @param program that the test needs beside the server's
 */
export function isMachinePostgresTested(untested = 'MIRROR_PG_BIN', program = 'postgres'): boolean {
  const isThere = MACHINE_POSTGRES !== undefined && existsSync(join(MACHINE_POSTGRES.bin, program));
  const missing = MACHINE_POSTGRES === undefined ? MISSING : `${MACHINE_POSTGRES.bin} has no ${program}`;
  return isTested('TEST_PG_BIN', isThere, missing, untested);
}

export type MachineServer = Awaited<ReturnType<typeof startMachineServer>>;

/** A server of the machine's PostgreSQL, of a test's own. @throws Error where the machine has none */
export async function startMachineServer() {
  if (MACHINE_POSTGRES === undefined) throw new Error(MISSING);
  const folder = await mkdtemp(join(tmpdir(), 'machine-postgres-'));
  const more = { pgBin: MACHINE_POSTGRES.bin, settings: { max_wal_size: '4GB' } };
  const server = await startTestServer(folder, more);
  return {
    /** Of its superuser. */
    url: server.url,
    remove: async (): Promise<void> => {
      await server.stop();
      await removeDataFolder(folder);
    },
  };
}

/** Removes a MIRROR_DATA_DIR, and what is elsewhere because PostgreSQL's user can't reach it there. */
export async function removeDataFolder(folder: string): Promise<void> {
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith('-location')) continue;
    await rm((await readFile(join(folder, name), 'utf8')).trim(), { recursive: true, force: true });
  }
  await rm(folder, { recursive: true, force: true });
}
