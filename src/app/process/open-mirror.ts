import type { Db } from '../../db/connection/db.ts';
import type { Config } from '../../config/config.ts';
import { openDatabase } from '../../db/connection/database.ts';
import { startEmbedded } from '@research-mirror/embedded-postgres/start';
import { migrate, MIGRATION_BOUNDS } from '../../db/migrations/run-migrations.ts';
import type { ConnectionOptions } from '../../db/connection/pool.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import { MIGRATIONS, programVersion } from '../program-files.ts';

/** The mirror's database, reached and brought to this version. */
export interface OpenMirror {
  /** For pages, walks and reports. */
  readonly db: Db;
  /** A small pool of its own: a heartbeat must not wait for a page's connection. */
  readonly heartbeatDb: Db;
  /** One pool more of so many connections, for what must not wait for a page's; closed with the mirror. */
  readonly openPool: (connections: number) => Promise<Db>;
  /** Unpooled where DATABASE_URL_DIRECT says so: for LISTEN. */
  readonly direct: ConnectionOptions;
  /** For people, without password: `embedded Postgres, port 54329`. */
  readonly words: string;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** `research-mirror start`: what the database's own lists of connections show. */
  readonly program: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Takes the embedded server's password. */
  readonly hide: (secret: string) => void;
  /** Of each attempt that failed and is repeated. */
  readonly onFailure?: (error: DatabaseUnavailable) => void;
}

/** @throws Unusable, DatabaseUnavailable; the signal's reason */
export async function openMirror(config: Config, options: OpenOptions): Promise<OpenMirror> {
  const reached = await reach(config, options);
  const closers: (() => Promise<void>)[] = [reached.leave];
  const open = async (connection: ConnectionOptions, more: { readonly max?: number }): Promise<Db> => {
    const database = await openDatabase({ ...connection, schema: config.schema, ...more });
    closers.push(() => database.close());
    return database.db;
  };
  const close = async (): Promise<void> => {
    for (const each of closers.toReversed()) await each();
  };
  try {
    await bringUp(config, reached.direct, options);
    const db = await open(reached.connection, {});
    const heartbeatDb = await open(reached.connection, { max: 1 });
    const openPool = (max: number): Promise<Db> => open(reached.connection, { max });
    return { db, heartbeatDb, openPool, direct: reached.direct, words: reached.words, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Repeats `openMirror` while the database can't be reached, later and later. */
export async function openMirrorPatiently(config: Config, options: OpenOptions): Promise<OpenMirror> {
  for (let waitMs = 500; ; waitMs = Math.min(30_000, waitMs * 2)) {
    try {
      return await openMirror(config, options);
    } catch (error) {
      // A stop in the middle of a first connection is a stop, whatever the connection said of it.
      options.signal.throwIfAborted();
      if (!(error instanceof DatabaseUnavailable)) throw error;
      options.onFailure?.(error);
      options.log.warn(`database: ${messageOf(error)}; next attempt in ${waitMs / 1000} s`);
      await options.clock.sleep(waitMs, options.signal);
    }
  }
}

interface Reached {
  readonly connection: ConnectionOptions;
  readonly direct: ConnectionOptions;
  readonly words: string;
  readonly leave: () => Promise<void>;
}

async function reach(config: Config, options: OpenOptions): Promise<Reached> {
  const { database } = config;
  const { program, log, clock, signal } = options;
  if (database.kind === 'external') {
    const variables = database.variables();
    const connection = { url: database.url.reveal(), variables, program };
    const direct = { ...connection, url: (database.directUrl ?? database.url).reveal() };
    return { connection, direct, words: 'the Postgres of DATABASE_URL', leave: () => Promise.resolve() };
  }
  const port = database.port === 0 ? 'free' : database.port;
  const server = await startEmbedded({ dataDir: database.dataDir, port, program, log, clock, signal });
  options.hide(new URL(server.url).password);
  const connection = { url: server.url, program };
  const words = `embedded Postgres, port ${server.port}`;
  return { connection, direct: connection, words, leave: () => server.stop() };
}

async function bringUp(
  config: Config,
  connection: ConnectionOptions,
  { clock, log }: OpenOptions,
): Promise<void> {
  const { schema } = config;
  const database = await openDatabase({ ...connection, schema, max: 1, bounds: MIGRATION_BOUNDS });
  try {
    const applied = await migrate({
      db: database.db,
      folder: MIGRATIONS,
      version: programVersion(),
      clock,
    });
    for (const name of applied) log.info(`migrated: ${name}`);
  } finally {
    await database.close();
  }
}
