import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedServer } from '@research-mirror/embedded-postgres/start';
import { removeTestServer, startTestServer } from '../postgres/postgres.ts';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';

export type OwnServer = Awaited<ReturnType<typeof createOwnServer>>;

/** A database server of one test's own, which it may take away and bring back at the same address. */
export async function createOwnServer() {
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
    /** Known before it runs. */
    port,
    down,
    /** @returns its URL, the same each time */
    async up() {
      server = await startTestServer(folder, { port });
      return server.url;
    },
    async remove() {
      await down();
      await removeTestServer(folder);
    },
  };
}
