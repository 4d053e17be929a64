import type { Clock } from '@research-mirror/runtime/clock';
import { DatabaseUnavailable, Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import type { NoteLog } from '@research-mirror/runtime/notes';
import pg from 'pg';
import { SUPERUSER } from './data-directory.ts';
import type { Location } from './location.ts';
import { isPortFree, nonEphemeralPort } from './ports.ts';
import { clearStalePidFile, lastPort, runningPostmaster } from './postmaster.ts';
import { type ServerProcess, spawnServer } from './server-process.ts';

/** An existing data directory, and how to run its server. */
export interface ServerSetup {
  readonly location: Location;
  readonly password: string;
  readonly logFile: string;
  readonly settings: Readonly<Record<string, string>>;
  /** `application_name` of this program's connection. */
  readonly program: string;
  readonly clock: Clock;
  readonly log: NoteLog;
}

/** How long a server may take to accept connections: recovery after a crash reads up to max_wal_size. */
const START_TIMEOUT_MS = 5 * 60_000;
const MESSAGE_INTERVAL_MS = 10_000;
const CONNECT_INTERVAL_MS = 25;
/** After a server that ended for a transient reason. */
const RESTART_DELAY_MS = 100;
/** Attempts with `port: 'free'`: another program may take a free port before the server does. */
const MAX_FREE_PORTS = 5;

/**
 * Connects to the server, starts it if none runs, and registers this program. Programs that start at the same time need
 * no lock: PostgreSQL runs one server per data directory.
 * @returns `owned`: this program started the server
 * @throws Unusable with what is wrong and the remedy; the signal's reason
 */
export async function connectOrStart(setup: ServerSetup, wanted: number | 'free', signal: AbortSignal | undefined) {
  const { location, clock, log } = setup;
  const begin = clock.monotonic();
  let lastMessage = begin;
  let child: ServerProcess | undefined;
  let freePortsTried = 0;
  for (;;) {
    signal?.throwIfAborted();
    const running = await runningPostmaster(location.pgData);
    if (running?.port !== undefined) {
      const url = `postgres://${SUPERUSER}:${setup.password}@127.0.0.1:${running.port}/postgres`;
      const session = await tryConnect(url, setup);
      if (session !== undefined) return { session, url, port: running.port, owned: child?.pid === running.pid };
    } else if (running === undefined && child === undefined) {
      await clearStalePidFile(location.pgData, clock);
      // A program that lost the last server to another's stop finds the next one at the same port, if that is free.
      const last = wanted === 'free' && freePortsTried === 0 ? await lastPort(location.pgData) : undefined;
      const kept = last !== undefined && (await isPortFree(last)) ? last : undefined;
      const port = wanted === 'free' ? (kept ?? (await nonEphemeralPort())) : wanted;
      child = await spawnServer(location, port, setup.settings, setup.logFile);
    }
    const wait = clock.sleep(CONNECT_INTERVAL_MS, signal).then(() => undefined);
    const exit = await (child === undefined ? wait : Promise.race([child.exit, wait]));
    if (child !== undefined && exit !== undefined) {
      freePortsTried += 1;
      const tryAnotherPort = wanted === 'free' && freePortsTried < MAX_FREE_PORTS && /already in use/.test(exit.log);
      if (!tryAnotherPort && !isTransient(exit)) {
        const reason = explainFailure(exit.log, child.port, setup.logFile);
        throw new Unusable(`the embedded PostgreSQL did not start: ${reason}`);
      }
      child = undefined;
      await clock.sleep(RESTART_DELAY_MS, signal);
    }
    const now = clock.monotonic();
    if (now - begin > START_TIMEOUT_MS) {
      throw new DatabaseUnavailable(
        `the embedded PostgreSQL accepts no connections after ${START_TIMEOUT_MS / 60_000} minutes (details: ${setup.logFile})`,
      );
    }
    if (now - lastMessage > MESSAGE_INTERVAL_MS) {
      lastMessage = now;
      log.info('waiting for the embedded PostgreSQL (after a crash it first recovers)');
    }
  }
}

const TRANSIENT =
  /"postmaster\.pid" (?:already exists|is empty)|bogus data in lock file|pre-existing shared memory block/;

/**
 * Whether the next attempt may succeed: another program is starting the server, another program stopped ours before we
 * were registered, or a server that was killed still holds its shared memory.
 */
function isTransient({ code, log }: Awaited<ServerProcess['exit']>): boolean {
  return code === 0 || TRANSIENT.test(log);
}

/** @returns undefined while it starts or stops @throws Unusable: wrong password; DatabaseUnavailable: other refusals */
async function tryConnect(url: string, { program, location }: ServerSetup) {
  try {
    return await openSession(url, program);
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (code === '28P01' || code === '28000') {
      throw new Unusable(
        `the embedded database in ${location.pgData} does not accept the password of its password file: ` +
          'one of the two was changed. Put the old one back.',
        { cause: error },
      );
    }
    if (code === '53300')
      throw new DatabaseUnavailable('the embedded PostgreSQL has no connection left', { cause: error });
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('57P')) {
      const refused = `the embedded PostgreSQL refused a connection: ${messageOf(error)}`;
      throw new DatabaseUnavailable(refused, { cause: error });
    }
    // 57P..: the server starts or stops. No SQLSTATE: the connection was refused or reset, which happens then, too.
    return undefined;
  }
}

/** Key of the advisory lock that every program on an embedded server holds in shared mode. */
const LOCK = 7_307_251;

/**
 * Registers a program at the embedded server, by one connection that holds a shared advisory lock as long as the
 * program lives. The server releases the lock when the program is killed. A program that wants to stop the server takes
 * the lock exclusively until the server has stopped: a program that connects meanwhile waits for the lock, loses its
 * connection with the server, and starts the server again.
 * @param name `application_name` of the connection
 * @throws pg's errors: the server is not running, is starting or stopping, or rejects the password
 */
async function openSession(connectionString: string, name: string) {
  const connection = { connectionString, ssl: false, application_name: name, keepAlive: true };
  // @types/pg leaves ref and unref out.
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: 5_000 }) as pg.Client &
    Record<'ref' | 'unref', () => void>;
  const lost = Promise.withResolvers<void>();
  client.on('error', () => lost.resolve());
  client.on('end', () => lost.resolve());
  try {
    await client.connect();
    await client.query('select pg_advisory_lock_shared($1)', [LOCK]);
  } catch (error) {
    client.end().catch(() => {});
    throw error;
  }
  // This connection alone does not keep the process alive.
  client.unref();
  return {
    /** Resolves when the connection is closed or lost. */
    lost: lost.promise,
    /** Trades the shared lock for the exclusive one. @returns whether no other program is registered, or can be */
    async lockOthersOut(): Promise<boolean> {
      client.ref();
      await client.query('select pg_advisory_unlock_shared($1)', [LOCK]);
      const lock = 'select pg_try_advisory_lock($1) as alone';
      return (await client.query<{ alone: boolean }>(lock, [LOCK])).rows[0]?.alone === true;
    },
    /** A collation of an index whose version has changed since the texts were sorted, in words. */
    async foreignCollation(): Promise<string | undefined> {
      // The caller waits for the answer, perhaps with nothing else to do.
      client.ref();
      const { rows } = await client.query<Record<'name' | 'made' | 'here', string>>(
        `select name, made, here from (
           select datcollate as name, datcollversion as made, pg_database_collation_actual_version(oid) as here
           from pg_database where datname = current_database()
           union all
           select collname, collversion, pg_collation_actual_version(oid)
           from pg_collation where oid in (select unnest(indcollation::oid[]) from pg_index)
         ) as used where made <> here limit 1`,
      );
      client.unref();
      return rows.map(
        ({ name, made, here }) => `version ${made} of the collation "${name}", and this PostgreSQL has ${here}`,
      )[0];
    },
    close: (): Promise<void> => client.end().catch(() => {}),
  };
}

export type ProgramSession = Awaited<ReturnType<typeof openSession>>;

const BAD_SETTING =
  /invalid value for parameter|unrecognized configuration parameter|configuration file .* contains errors/;

/** Why the server did not start, from its log: one sentence with the remedy. */
export function explainFailure(log: string, port: number, logFile: string): string {
  const has = (pattern: RegExp): boolean => pattern.test(log);
  if (has(/Address already in use|could not bind/))
    return `port ${port} is taken by another program (or another mirror's embedded server). Set MIRROR_PG_PORT to a free port`;
  if (has(/No space left on device/)) return 'the disk is full. Free space for the database';
  if (has(/Read-only file system/)) return 'the database is on a read-only file system';
  if (has(/could not (create|map|resize|attach).*shared memory/))
    return `the machine gives it no shared memory (details: ${logFile})`;
  if (has(/has wrong ownership|invalid permissions/))
    return 'the database folder must belong to the user who runs the server, with mode 0700';
  if (has(BAD_SETTING)) return `postgresql.conf has an error (details: ${logFile})`;
  const fatal = log.split('\n').findLast((line) => /\b(FATAL|PANIC|error while loading)\b/.test(line));
  const reason = fatal?.replace(/^.*?\b(FATAL|PANIC):\s*/, '') ?? 'it ended and logged no reason';
  return `${reason} (details: ${logFile})`;
}
