import { type Api, createApi, RETRY_LIMITS } from '../../api/api.ts';
import { createTransport } from '../../api/transport.ts';
import { PRIORITY } from '../../budget/priorities.ts';
import type { ServiceConfig } from '../../config/config.ts';
import { hashOfKey, type Secret } from '../../config/secret.ts';
import { openDatabase } from '../../db/connection/database.ts';
import type { Db } from '../../db/connection/db.ts';
import { neededMigrations } from '../../db/migrations/run-migrations.ts';
import { KeyRefused, RateLimited } from '../../model/errors.ts';
import { isCopy } from '../../model/page.ts';
import { pingedOwner } from '../../api/key-owner.ts';
import { type EmbeddedState, embeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
import { type DatabaseReach, reachDatabase } from '../process/open-mirror.ts';
import { MIGRATIONS, programVersion } from '../program-files.ts';

/** Milliseconds, of requests and of statements: a user waits for the answer. */
const REQUEST_LIMITS = { connectMs: 5_000, headersMs: 8_000, totalMs: 10_000 };
const STATEMENT_BOUNDS = { statement: 5_000, idle: 5_000 };
/** Keys that are used at a time. */
export const AT_A_TIME = 5;
const PING = '/v1/ping';

export interface DoctorOptions extends Omit<DatabaseReach, 'command'> {
  readonly scrub: (text: string) => string;
}

/** What one key's ping told. */
export interface Ping {
  /** The key's place in MIRROR_API_KEY, from 0. */
  readonly at: number;
  readonly keyHash: string;
  /** Sends each request once, on no slot. */
  readonly api: Api;
  /** Decimal digits; undefined where `error` says why. */
  readonly owner?: string;
  /** Classified (src/model/errors.ts): what the answer means, or that there was none. */
  readonly error?: unknown;
  /** Of the service's clock, as `clockSkew` has it; undefined where the answer does not say the time. */
  readonly skew?: number;
}

export type Context = Awaited<ReturnType<typeof openContext>>;

/** What the checks look at: requests and connections are made when they are first needed, and once. */
export async function openContext(config: ServiceConfig, given: DoctorOptions) {
  const { clock } = given;
  const ended = new AbortController();
  /** Aborted when the user interrupts the program, and at the end. */
  const signal = AbortSignal.any([given.signal, ended.signal]);
  const transport = createTransport({
    baseUrl: config.service.url,
    clock,
    userAgent: `research-mirror/${programVersion()}`,
    limits: REQUEST_LIMITS,
    proxy: config.proxy,
  });
  const closers = [() => transport.close()];
  /** The embedded server; `running` where the database is DATABASE_URL's. */
  const server: EmbeddedState =
    config.database.kind === 'external'
      ? 'running'
      : await embeddedState(config.database.dataDir).catch(() => 'stopped');

  async function ping(at: number, key: Secret): Promise<Ping> {
    const api = createApi({
      transport,
      key: key.reveal(),
      // No slot is reserved, since nothing is to be written: a request counts as one of another user of the key, for
      // which MIRROR_BUDGET_SHARE leaves room.
      budget: { run: ({ signal }, send) => send(signal) },
      retries: { ...RETRY_LIMITS, attempts: 1, rateLimitedMs: 0 },
      clock,
      random: () => 0,
      scrub: given.scrub,
    });
    const asked = { at, keyHash: hashOfKey(key), api };
    const askedAt = clock.now();
    try {
      const answer = await api.object({ path: PING, route: PING, priority: PRIORITY.POLL, signal });
      const owner = pingedOwner(answer);
      const date = isCopy(answer.served) ? undefined : answer.served?.date;
      // HTTP dates have whole seconds.
      const skew = date === undefined ? {} : { skew: clockSkew(date, 1_000, askedAt, clock.now()) };
      return { ...asked, owner, ...skew };
    } catch (error) {
      signal.throwIfAborted();
      return { ...asked, error };
    }
  }

  /** One for each key, in their order; where the first one finds no service, that one alone. */
  const pings = once(async (): Promise<readonly Ping[]> => {
    const [first, ...others] = config.service.keys.map((key, at) => () => ping(at, key));
    const all: Ping[] = first === undefined ? [] : [await first()];
    if (isAnswered(all[0]?.error))
      await forEachConcurrently(others, AT_A_TIME, async (each) => void all.push(await each()));
    return all.toSorted((a, b) => a.at - b.at);
  });

  const open = async () => {
    const reached = await reachDatabase(config.database, { ...given, signal, command: 'doctor' });
    closers.push(reached.leave);
    const { schema } = config;
    const opened = await openDatabase({ ...reached.connection, schema, max: 2, bounds: STATEMENT_BOUNDS });
    closers.push(() => opened.close());
    return { ...reached, db: opened.db };
  };
  let opening: ReturnType<typeof open> | undefined;
  /** The mirror's database, reached as `start` reaches it. @throws DatabaseUnavailable, Unusable */
  const database = (): ReturnType<typeof open> => (opening ??= open());

  /** Migrations that the next start applies. @throws Unusable where this program may not run on the database */
  async function pending(): Promise<readonly string[]> {
    const { db } = await database();
    return neededMigrations({ db, folder: MIGRATIONS, version: programVersion() });
  }

  /** The database with a mirror of this version in it; undefined: the next start makes it. */
  const mirror = once(async (): Promise<Db | undefined> => {
    if (server === 'absent' || (await pending()).length > 0) return undefined;
    return (await database()).db;
  });

  /** Ends what is still under way, and closes everything. */
  async function close(): Promise<void> {
    ended.abort(new Error('the time for this check is over'));
    await opening?.catch(() => {});
    for (const each of closers.toReversed()) await each();
  }
  return { config, clock, signal, server, pings, database, pending, mirror, close };
}

/** Whether a ping was answered by the service: a refused key is its answer, too. */
export function isAnswered(error: unknown): boolean {
  return error === undefined || error instanceof KeyRefused || error instanceof RateLimited;
}

/**
 * By how much another clock is certainly ahead of ours (positive) or behind it, in milliseconds; 0 where both may be
 * the same: its answer was true at some time between question and answer (Cristian 1989).
 * @param said what it said; its true time was up to `resolutionMs` more
 */
export function clockSkew(said: number, resolutionMs: number, askedAt: number, answeredAt: number): number {
  return Math.max(0, said - answeredAt) + Math.min(0, said + resolutionMs - askedAt);
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
