import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbedded, type EmbeddedServer } from '@research-mirror/embedded-postgres/start';
import { systemClock } from '@research-mirror/runtime/clock';
import { removeTestServer } from '../postgres/postgres.ts';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';

/** A database server of one test's own, which it may take away and bring back at the same address. */
export interface OwnServer {
  /** Known before it runs. */
  readonly port: number;
  /** @returns its URL, the same each time */
  up(): Promise<string>;
  down(): Promise<void>;
  remove(): Promise<void>;
}

export async function createOwnServer(): Promise<OwnServer> {
  const folder = await mkdtemp(join(tmpdir(), 'research-mirror-own-server-'));
  // PostgreSQL's own user must be able to pass where tests run as root.
  await chmod(folder, 0o755);
  const port = await nonEphemeralPort();
  let server: EmbeddedServer | undefined;
  const down = async (): Promise<void> => {
    await server?.stop();
    server = undefined;
  };
  return {
    port,
    down,
    async up() {
      server = await startEmbedded({
        dataDir: folder,
        port,
        program: 'research-mirror tests',
        log: { info: () => {}, warn: (message) => process.stderr.write(`${message}\n`) },
        clock: systemClock,
        durable: false,
      });
      return server.url;
    },
    async remove() {
      await down();
      await removeTestServer(folder);
    },
  };
}
