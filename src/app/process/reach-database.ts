import { type EmbeddedServer, startEmbedded } from '@research-mirror/embedded-postgres/start';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Logger } from '@research-mirror/runtime/logger';
import type { DatabaseConfig } from '../../config/config.ts';
import type { ConnectionOptions } from '../../db/connection/pool.ts';

export interface ReachedDatabase {
  readonly connection: ConnectionOptions;
  /** Past a transaction pooler, where such a way is configured. */
  readonly direct: ConnectionOptions;
  /** The embedded server; undefined where the database is DATABASE_URL's. */
  readonly server: EmbeddedServer | undefined;
  /** For people, without password: `embedded Postgres, port 54329`. */
  readonly words: string;
  /** Closes the connection; an embedded server that no other program uses stops. */
  readonly leave: () => Promise<void>;
}

export interface DatabaseReach {
  /** `start`: the database's own lists of connections show `research-mirror start`. */
  readonly command: string;
  readonly log: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Takes the embedded server's password. */
  readonly hide: (secret: string) => void;
}

/**
 * Says how to connect to the database; the embedded server is started when it does not run.
 * @param folder where the embedded database is, for people; left out: not said
 * @throws Unusable; the signal's reason
 */
export async function reachDatabase(
  database: DatabaseConfig,
  { command, log, clock, signal, hide }: DatabaseReach,
  folder?: string,
): Promise<ReachedDatabase> {
  const program = `research-mirror ${command}`;
  if (database.kind === 'external') {
    const connection = { url: database.url.reveal(), variables: database.variables(), program };
    const direct = { ...connection, url: (database.directUrl ?? database.url).reveal() };
    const words = 'the Postgres of DATABASE_URL';
    return { connection, direct, server: undefined, words, leave: () => Promise.resolve() };
  }
  const { dataDir, pgBin, port } = database;
  const server = await startEmbedded({
    dataDir,
    pgBin,
    port: port === 0 ? 'free' : port,
    program,
    log,
    clock,
    signal,
  });
  hide(new URL(server.url).password);
  const connection = { url: server.url, program };
  const words = `embedded Postgres${folder === undefined ? '' : ` in ${folder}`}, port ${server.port}`;
  return { connection, direct: connection, server, words, leave: () => server.stop() };
}
