import type { Db } from './db.ts';
import type { Config, DatabaseConfig } from '../config/config.ts';
import { openDatabase } from './database.ts';
import { migrate, MIGRATION_BOUNDS } from './run-migrations.ts';
import type { ConnectionOptions } from './pool.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import type { Logger } from '@research-mirror/runtime/logger';
import { type EmbeddedServer, startEmbedded } from '@research-mirror/embedded-postgres/start';
import { messageOf } from '@research-mirror/runtime/message';
import { type Service, service, untilAborted } from '@research-mirror/runtime/service';
import { MIGRATIONS, programVersion } from '../config/program.ts';

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

/** What the command line gives to what runs. */
export interface WorkOptions {
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Takes a secret that was learnt while running: no output shows it then. */
  readonly hide: (secret: string) => void;
  readonly scrub: (text: string) => string;
}

export interface DatabaseReach extends Omit<WorkOptions, 'scrub'> {
  /** `start`: the database's own lists of connections show `research-mirror start`. */
  readonly command: string;
  readonly clock: Clock;
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

/** The mirror's database, reached and brought to this version. */
export interface OpenMirror extends Pick<ReachedDatabase, 'direct' | 'words'> {
  /** For pages, walks and reports. */
  readonly db: Db;
  /** The same connections, past the line for them: for what another process waits for. */
  readonly urgentDb: Db;
  /** One connection more: a heartbeat must not wait until a page's is free. */
  readonly heartbeatDb: Db;
  /** Two more for searches and pages of rows: no walk and no report waits for who looks. Made when one is asked. */
  readonly viewersDb: Db;
  /** So many more, for what must not wait until a page's connection is free. */
  readonly beside: (connections: number) => Db;
  /** Why a migration that drops what older programs use was left; undefined: none was. */
  readonly waiting: string | undefined;
  close(): Promise<void>;
}

interface OpenOptions extends DatabaseReach {
  /** Called for each attempt that failed and is repeated. */
  readonly onFailure?: (error: DatabaseUnavailable) => void;
}

/** @throws Unusable, DatabaseUnavailable; the signal's reason */
export async function openMirror(config: Config, options: OpenOptions): Promise<OpenMirror> {
  const reached = await reachDatabase(config.database, options);
  const closers = [reached.leave];
  const close = async (): Promise<void> => {
    for (const each of closers.toReversed()) await each();
  };
  try {
    const waiting = await bringUp(config, reached.direct, options);
    const database = await openDatabase({ ...reached.connection, schema: config.schema });
    closers.push(() => database.close());
    const { db, urgent: urgentDb, beside } = database;
    const { direct, words } = reached;
    return {
      db,
      urgentDb,
      heartbeatDb: beside(1),
      viewersDb: beside(2),
      beside,
      direct,
      words,
      waiting,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Repeats `openMirror` while the database can't be reached, with longer and longer waits. */
export async function openMirrorPatiently(config: Config, options: OpenOptions): Promise<OpenMirror> {
  let said = '';
  for (let waitMs = 500; ; waitMs = Math.min(30_000, waitMs * 2)) {
    try {
      return await openMirror(config, options);
    } catch (error) {
      // A stop may surface as an error of the connection that it interrupted.
      options.signal.throwIfAborted();
      if (!(error instanceof DatabaseUnavailable)) throw error;
      options.onFailure?.(error);
      const message = messageOf(error);
      options.log[message === said ? 'debug' : 'warn'](
        `${message}; tried again in ${waitMs / 1000} s, and then at least each 30 s. "research-mirror doctor" says what is wrong`,
      );
      said = message;
      await options.clock.sleep(waitMs, options.signal);
    }
  }
}

/** @returns why a migration that drops was left; undefined: the database is of this version */
async function bringUp(
  config: Config,
  connection: ConnectionOptions,
  { clock, log }: Pick<OpenOptions, 'clock' | 'log'>,
): Promise<string | undefined> {
  const { schema } = config;
  // A second connection looks at what the first one waits for.
  const database = await openDatabase({ ...connection, schema, max: 2, bounds: MIGRATION_BOUNDS });
  try {
    const version = programVersion();
    const { applied, waiting } = await migrate({ db: database.db, folder: MIGRATIONS, version, clock });
    for (const name of applied) log.info(`migrated: ${name}`);
    return waiting;
  } finally {
    await database.close();
  }
}

/** How often (ms) a daemon looks whether older programs still run. */
const LOOK_MS = 10_000;

/** Makes the migrations that were left at the start as soon as no older program lives. */
export function leftMigrations(
  config: Config,
  { direct, waiting }: Pick<OpenMirror, 'direct' | 'waiting'>,
  given: Pick<OpenOptions, 'clock' | 'log'>,
): Service {
  const { clock, log } = given;
  return service('left migrations', async ({ signal, ready }) => {
    ready();
    for (let why = waiting, said = ''; why !== undefined;) {
      if (why !== said) log.info(`${why}; looked at again each ${LOOK_MS / 1000} s`);
      said = why;
      await clock.sleep(LOOK_MS, signal);
      why = await bringUp(config, direct, given).catch(messageOf);
    }
    await untilAborted(signal);
  });
}
