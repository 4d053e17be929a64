import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbedded } from '@research-mirror/embedded-postgres/start';
import { systemClock } from '@research-mirror/runtime/clock';

/** Where Debian, Red Hat and Homebrew put the versions that are older than the one that npm brings. */
const PLACES = [17, 16, 15].flatMap((major) => [
  `/usr/lib/postgresql/${major}/bin`,
  `/usr/pgsql-${major}/bin`,
  `/opt/homebrew/opt/postgresql@${major}/bin`,
]);
const MISSING =
  'no PostgreSQL 15 to 17 is installed (apt-get install postgresql, brew install postgresql@17)';

/** A PostgreSQL of the machine's, and its major version. Undefined where there is none. */
export const MACHINE_POSTGRES = PLACES.filter((bin) => existsSync(join(bin, 'initdb'))).map((bin) => ({
  bin,
  major: Number(/\d+/.exec(bin)?.[0]),
}))[0];

/**
 * Whether tests on it run: where there is one, unless TEST_PG_BIN is `off`. `required` (CI) makes a missing one a
 * failure; otherwise it is said on stderr.
 * @param untested what is not tested without it @param program that the test needs beside the server's
 */
export function isMachinePostgresTested(untested = 'MIRROR_PG_BIN', program = 'postgres'): boolean {
  const wish = process.env['TEST_PG_BIN'];
  if (wish === 'off') return false;
  const found = MACHINE_POSTGRES !== undefined && existsSync(join(MACHINE_POSTGRES.bin, program));
  if (found) return true;
  const missing = MACHINE_POSTGRES === undefined ? MISSING : `${MACHINE_POSTGRES.bin} has no ${program}`;
  if (wish === 'required') throw new Error(missing);
  process.stderr.write(`${missing}; NOT TESTED: ${untested}\n`);
  return false;
}

/** A server of the machine's PostgreSQL, of a test's own. */
export interface MachineServer {
  /** Of its superuser. */
  readonly url: string;
  remove(): Promise<void>;
}

/** @throws Error where the machine has none */
export async function startMachineServer(): Promise<MachineServer> {
  if (MACHINE_POSTGRES === undefined) throw new Error(MISSING);
  const folder = await mkdtemp(join(tmpdir(), 'machine-postgres-'));
  const server = await startEmbedded({
    dataDir: folder,
    pgBin: MACHINE_POSTGRES.bin,
    port: 'free',
    program: 'research-mirror tests',
    log: { info: () => {}, warn: (message) => process.stderr.write(`${message}\n`) },
    clock: systemClock,
    durable: false,
    settings: { max_wal_size: '4GB' },
  });
  return {
    url: server.url,
    remove: async () => {
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
