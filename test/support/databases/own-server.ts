import { type EmbeddedServer } from '@research-mirror/embedded-postgres/start';
import { removeTestServer, startTestServer } from '../postgres/postgres.ts';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { openFolder } from '../postgres/quick-folder.ts';

export type OwnServer = Awaited<ReturnType<typeof createOwnServer>>;

/** A database server of one test's own, which it may take away and bring back at the same address. */
export async function createOwnServer() {
  const folder = await openFolder('research-mirror-own-server');
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
