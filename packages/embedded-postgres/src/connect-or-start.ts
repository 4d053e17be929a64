import { DatabaseUnavailable, Unusable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { DATABASE, SUPERUSER } from './data-directory.ts';
import { explainFailure } from './start-failure.ts';
import { isPortFree, nonEphemeralPort } from './ports.ts';
import type { Location } from './location.ts';
import { clearStalePidFile, lastPort, runningPostmaster } from './postmaster.ts';
import { ProgramSession } from './program-session.ts';
import { spawnServer, type ServerExit, type ServerProcess } from './server-process.ts';

/** An existing data directory, and how to run its server where none runs yet. */
export interface ServerSetup {
  readonly location: Location;
  readonly password: string;
  readonly logFile: string;
  readonly settings: Readonly<Record<string, string>>;
  /** `application_name` of this program's connection. */
  readonly program: string;
  readonly clock: Clock;
  readonly log: MessageLogger;
}

/** The part of a logger that this workspace needs. */
export interface MessageLogger {
  info(message: string): void;
  warn(message: string): void;
}

/** A running server at which this program is registered. */
export interface ConnectedServer {
  readonly session: ProgramSession;
  readonly port: number;
  readonly url: string;
  /** True when this program started the server. */
  readonly owned: boolean;
}

/** How long a server may take to accept connections: recovery after a crash reads up to max_wal_size. */
const START_TIMEOUT_MS = 5 * 60_000;
/** Between two messages that the start still takes. */
const MESSAGE_INTERVAL_MS = 10_000;
/** Between two attempts to connect. */
const CONNECT_INTERVAL_MS = 25;
/** After a server that ended for a transient reason. */
const RESTART_DELAY_MS = 100;
/** Attempts with `port: 'free'`: another program may take a free port before the server does. */
const MAX_FREE_PORTS = 5;

/**
 * Connects to the server, and starts it where none runs, until this program is registered. Programs that start at the
 * same time need no lock: PostgreSQL runs one server per data directory, and the others connect to that one.
 * @throws Unusable with what is wrong and the remedy; the signal's reason
 */
export async function connectOrStart(
  setup: ServerSetup,
  wanted: number | 'free',
  signal: AbortSignal | undefined,
): Promise<ConnectedServer> {
  const { location, clock, log } = setup;
  const begin = clock.monotonic();
  let lastMessage = begin;
  let child: ServerProcess | undefined;
  let freePortsTried = 0;
  for (;;) {
    signal?.throwIfAborted();
    const running = await runningPostmaster(location.pgData);
    if (running?.port !== undefined) {
      const url = urlOf(setup, running.port);
      const session = await tryConnect(url, setup);
      if (session !== undefined) {
        return { session, url, port: running.port, owned: child?.pid === running.pid };
      }
    } else if (running === undefined && child === undefined) {
      await clearStalePidFile(location.pgData, clock);
      const port = wanted === 'free' ? await portToTake(location.pgData, freePortsTried > 0) : wanted;
      child = await spawnServer(location, port, setup.settings, setup.logFile);
    }
    const exit = await exitWithin(child, CONNECT_INTERVAL_MS, clock, signal);
    if (child !== undefined && exit !== undefined) {
      freePortsTried += 1;
      const tryAnotherPort =
        wanted === 'free' && freePortsTried < MAX_FREE_PORTS && /already in use/.test(exit.log);
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

/**
 * The port of the last server, so that a program which lost it to another program's stop finds the next one at the
 * address that it knows; a new one where that port is taken.
 */
async function portToTake(pgData: string, wasTaken: boolean): Promise<number> {
  const last = wasTaken ? undefined : await lastPort(pgData);
  return last !== undefined && (await isPortFree(last)) ? last : nonEphemeralPort();
}

function urlOf(setup: ServerSetup, port: number): string {
  return `postgres://${SUPERUSER}:${setup.password}@127.0.0.1:${port}/${DATABASE}`;
}

/**
 * True when the next attempt may succeed: another program is starting the server, another program stopped ours before
 * we were registered, or a server that was killed still holds its shared memory.
 */
function isTransient(exit: ServerExit): boolean {
  return (
    exit.code === 0 ||
    /"postmaster\.pid" (?:already exists|is empty)|bogus data in lock file|pre-existing shared memory block/.test(
      exit.log,
    )
  );
}

/**
 * @returns undefined while the server starts or stops
 * @throws Unusable for a wrong password, DatabaseUnavailable for any other refusal
 */
async function tryConnect(
  url: string,
  { program, location }: ServerSetup,
): Promise<ProgramSession | undefined> {
  try {
    return await ProgramSession.open(url, program);
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (code === '28P01' || code === '28000') {
      throw new Unusable(
        `the embedded database in ${location.pgData} does not accept the password of its password file: ` +
          'one of the two was changed, put the old one back.',
        { cause: error },
      );
    }
    if (code === '53300') {
      throw new DatabaseUnavailable('the embedded PostgreSQL has no connection left', { cause: error });
    }
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('57P')) {
      throw new DatabaseUnavailable(`the embedded PostgreSQL refused a connection: ${messageOf(error)}`, {
        cause: error,
      });
    }
    // 57P..: the server starts or stops. No SQLSTATE: the connection was refused or reset, which happens then, too.
    return undefined;
  }
}

/** How `child` exited, or undefined when it still runs after `ms`. */
async function exitWithin(
  child: ServerProcess | undefined,
  ms: number,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<ServerExit | undefined> {
  const wait = clock.sleep(ms, signal).then(() => undefined);
  return child === undefined ? wait : Promise.race([child.exit, wait]);
}
