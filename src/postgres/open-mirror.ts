import { startEmbedded } from '@research-mirror/embedded-postgres/start';
import type { Clock } from '@research-mirror/runtime/clock';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import { type Service, service, untilAborted } from '@research-mirror/runtime/service';
import type { Config, DatabaseConfig } from '../config/config.ts';
import { MIGRATIONS, programVersion } from '../config/program.ts';
import { type ConnectionOptions, type Database, openDatabase } from './pool.ts';
import { migrate, MIGRATION_BOUNDS } from './run-migrations.ts';

/** What the command line gives to a command's work. */
export interface WorkOptions {
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Keeps a secret out of all output from then on. */
  readonly hide: (secret: string) => void;
  readonly scrub: (text: string) => string;
}

export interface DatabaseReach extends Omit<WorkOptions, 'scrub'> {
  /** `start`: the database's lists of connections show `research-mirror start`. */
  readonly command: string;
  readonly clock: Clock;
}

export type ReachedDatabase = Awaited<ReturnType<typeof reachDatabase>>;

/**
 * Finds out how to connect to the database. Starts the embedded server if it does not run.
 * @param folder of the embedded database, for people
 * @returns `direct`: the way past a transaction pooler, if configured; `words`: for people, without password; `leave`
 *   stops an embedded server that no other program uses
 * @throws Unusable; the signal's reason
 */
export async function reachDatabase(
  database: DatabaseConfig,
  { command, log, clock, signal, hide }: DatabaseReach,
  folder?: string,
) {
  const program = `research-mirror ${command}`;
  if (database.kind === 'external') {
    const connection = { url: database.url.reveal(), variables: database.variables(), program };
    const direct = { ...connection, url: (database.directUrl ?? database.url).reveal() };
    const words = 'the Postgres of DATABASE_URL';
    return { connection, direct, server: undefined, words, leave: () => Promise.resolve() };
  }
  const { dataDir, pgBin } = database;
  const port = database.port === 0 ? 'free' : database.port;
  const server = await startEmbedded({ dataDir, pgBin, port, program, log, clock, signal });
  hide(new URL(server.url).password);
  const connection: ConnectionOptions = { url: server.url, program };
  const words = `embedded Postgres${folder === undefined ? '' : ` in ${folder}`}, port ${server.port}`;
  return { connection, direct: connection, server, words, leave: () => server.stop() };
}

export type OpenMirror = Awaited<ReturnType<typeof openMirror>>;

/** Opens the mirror's database at this version. @throws Unusable, DatabaseUnavailable; the signal's reason */
export async function openMirror(config: Config, options: DatabaseReach) {
  const { connection, direct, words, leave } = await reachDatabase(config.database, options);
  let database: Database | undefined;
  const close = async (): Promise<void> => {
    await database?.close();
    await leave();
  };
  try {
    /** Why a migration that drops what older programs use was left; undefined: none was. */
    const waiting = await bringUp(config, direct, options);
    database = await openDatabase({ ...connection, schema: config.schema });
    const { db, urgent: urgentDb, beside } = database;
    // A heartbeat must not wait for a page's connection, and a walk or report not for people's searches.
    const [heartbeatDb, viewersDb] = [beside(1), beside(2)];
    return { db, urgentDb, heartbeatDb, viewersDb, beside, direct, words, waiting, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Repeats `openMirror`, with waits that grow to 30 s, while the database can't be reached. */
export async function openMirrorPatiently(
  config: Config,
  options: DatabaseReach & { readonly onFailure: (error: DatabaseUnavailable) => void },
): Promise<OpenMirror> {
  let said = '';
  for (let waitMs = 500; ; waitMs = Math.min(30_000, waitMs * 2)) {
    try {
      return await openMirror(config, options);
    } catch (error) {
      // A stop may surface as an error of the connection that it interrupted.
      options.signal.throwIfAborted();
      if (!(error instanceof DatabaseUnavailable)) throw error;
      options.onFailure(error);
      const message = messageOf(error);
      options.log[message === said ? 'debug' : 'warn'](
        `${message}. Retrying in ${waitMs / 1000} s, then at least every 30 s. "research-mirror doctor" says what is wrong`,
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
  { clock, log }: Pick<DatabaseReach, 'clock' | 'log'>,
): Promise<string | undefined> {
  const { schema } = config;
  // A second connection looks which session blocks the first one.
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

/** Interval of looks for older programs, ms. */
const LOOK_MS = 10_000;

/** Applies migrations that were left at the start, as soon as no older program lives. */
export function leftMigrations(
  config: Config,
  { direct, waiting }: Pick<OpenMirror, 'direct' | 'waiting'>,
  given: Pick<DatabaseReach, 'clock' | 'log'>,
): Service {
  const { clock, log } = given;
  return service('left migrations', async ({ signal, ready }) => {
    ready();
    for (let why = waiting, said = ''; why !== undefined;) {
      if (why !== said) log.info(`${why}. Checked again every ${LOOK_MS / 1000} s`);
      said = why;
      await clock.sleep(LOOK_MS, signal);
      why = await bringUp(config, direct, given).catch(messageOf);
    }
    await untilAborted(signal);
  });
}
