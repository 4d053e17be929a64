import { DatabaseUnavailable, Unusable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { DATABASE, SUPERUSER } from './cluster.ts';
import { explainFailure } from './failure.ts';
import { freePort } from './ports.ts';
import type { Place } from './place.ts';
import { clearStalePidFile, runningPostmaster } from './postmaster.ts';
import { Presence } from './presence.ts';
import { spawnServer, type Ended, type Spawned } from './server.ts';

/** A database that was made, and how its server is to be run where it does not run yet. */
export interface Installation {
  readonly place: Place;
  readonly password: string;
  readonly logFile: string;
  readonly settings: Readonly<Record<string, string>>;
  /** `application_name` of this program's connection. */
  readonly program: string;
  readonly clock: Clock;
  readonly log: EmbeddedLog;
}

/** The part of a logger that the launcher needs. */
export interface EmbeddedLog {
  info(message: string): void;
  warn(message: string): void;
}

export interface Entered {
  readonly presence: Presence;
  readonly port: number;
  readonly url: string;
  /** True when this program started the server. */
  readonly owned: boolean;
}

/** How long a server may take to accept connections: recovery after a crash reads up to max_wal_size. */
const START_BOUND = 5 * 60_000;
const SAY_EVERY = 10_000;
const LOOK_EVERY = 25;
/** After an attempt that failed for a passing reason. */
const TRY_AGAIN = 100;
const MAX_FREE_PORTS = 5;

/**
 * Knocks and starts until this program is present at the server. No lock among starters is needed: PostgreSQL lets
 * one server run on a folder, and whoever loses finds the winner's.
 * @throws Unusable with what is wrong and the remedy; the signal's reason
 */
export async function enter(
  installation: Installation,
  wanted: number | 'free',
  signal: AbortSignal | undefined,
): Promise<Entered> {
  const { place, clock, log } = installation;
  const begin = clock.monotonic();
  let said = begin;
  let child: Spawned | undefined;
  let freePortsTried = 0;
  for (;;) {
    signal?.throwIfAborted();
    const running = await runningPostmaster(place.cluster);
    if (running?.port !== undefined) {
      const url = urlOf(installation, running.port);
      const presence = await knock(url, installation);
      if (presence !== undefined) {
        return { presence, url, port: running.port, owned: child?.pid === running.pid };
      }
    } else if (running === undefined && child === undefined) {
      await clearStalePidFile(place.cluster, clock);
      const port = wanted === 'free' ? await freePort() : wanted;
      child = await spawnServer(place, port, installation.settings, installation.logFile);
    }
    const ended = await endedWithin(child, LOOK_EVERY, clock, signal);
    if (child !== undefined && ended !== undefined) {
      freePortsTried += 1;
      const another =
        wanted === 'free' && freePortsTried < MAX_FREE_PORTS && /already in use/.test(ended.log);
      if (!another && !isPassing(ended)) {
        const reason = explainFailure(ended.log, child.port, installation.logFile);
        throw new Unusable(`the embedded PostgreSQL did not start: ${reason}`);
      }
      child = undefined;
      await clock.sleep(TRY_AGAIN, signal);
    }
    const now = clock.monotonic();
    if (now - begin > START_BOUND) {
      throw new DatabaseUnavailable(
        `the embedded PostgreSQL accepts no connections after ${START_BOUND / 60_000} minutes (details: ${installation.logFile})`,
      );
    }
    if (now - said > SAY_EVERY) {
      said = now;
      log.info('waiting for the embedded PostgreSQL (after a crash it first recovers)');
    }
  }
}

function urlOf(installation: Installation, port: number): string {
  return `postgres://${SUPERUSER}:${installation.password}@127.0.0.1:${port}/${DATABASE}`;
}

/**
 * True when a new attempt is due: another program is starting the server, or stopped ours before we were present, or
 * one that was killed still holds the shared memory.
 */
function isPassing(ended: Ended): boolean {
  return (
    ended.code === 0 ||
    /"postmaster\.pid" (?:already exists|is empty)|bogus data in lock file|pre-existing shared memory block/.test(
      ended.log,
    )
  );
}

/** @returns undefined while the server starts or stops */
async function knock(url: string, { program, place }: Installation): Promise<Presence | undefined> {
  try {
    return await Presence.at(url, program);
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (code === '28P01' || code === '28000') {
      throw new Unusable(
        `the embedded database in ${place.cluster} does not accept the password of its password file: ` +
          'somebody changed one of them; put the old one back.',
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
    // 57P..: it starts or stops. No SQLSTATE: refused, reset or cut off, as happens then, too.
    return undefined;
  }
}

/** How `child` ended, or undefined when it still runs after `ms`. */
async function endedWithin(
  child: Spawned | undefined,
  ms: number,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<Ended | undefined> {
  const wait = clock.sleep(ms, signal).then(() => undefined);
  return child === undefined ? wait : Promise.race([child.ended, wait]);
}
