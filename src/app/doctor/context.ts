import { readObject } from '../../api/envelope.ts';
import { refusal, refuseOtherSuccess } from '../../api/refusal.ts';
import { createTransport, type HttpAnswer } from '../../api/transport.ts';
import type { AnswerHeaders } from '../../budget/budget.ts';
import type { ServiceConfig } from '../../config/config.ts';
import type { Secret } from '../../config/secret.ts';
import { openDatabase } from '../../db/connection/database.ts';
import type { Db } from '../../db/connection/db.ts';
import { pendingMigrations } from '../../db/migrations/run-migrations.ts';
import { KeyRefused, MalformedAnswer, RateLimited } from '../../model/errors.ts';
import { ownerOf } from '../../sync/ownership/owner-of.ts';
import type { EmbeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
import { messageOf } from '@research-mirror/runtime/message';
import { type DatabaseReach, type ReachedDatabase, reachDatabase } from '../process/reach-database.ts';
import { MIGRATIONS, programVersion } from '../program-files.ts';

/** Milliseconds, of requests and of statements: a user waits for the answer. */
const REQUEST_LIMITS = { connectMs: 5_000, headersMs: 8_000, totalMs: 10_000 };
const STATEMENT_BOUNDS = { statement: 5_000, idle: 5_000 };
/** Keys that are used at a time. */
export const AT_A_TIME = 5;

export interface DoctorOptions extends Omit<DatabaseReach, 'command'> {
  readonly scrub: (text: string) => string;
}

/** One key's ping, as it was answered. Times are of this machine's wall clock, ms. */
export interface Ping {
  /** The key's place in MIRROR_API_KEY, from 0. */
  readonly at: number;
  readonly key: Secret;
  /** Decimal digits; undefined where `error` says why. */
  readonly owner?: string;
  /** Classified (src/model/errors.ts): what the answer means, or that there was none. */
  readonly error?: unknown;
  /** Of an answer that is no error. */
  readonly headers?: AnswerHeaders;
  readonly askedAt: number;
  readonly answeredAt: number;
}

export type Context = ReturnType<typeof openContext>;

/** What the checks look at: requests and connections are made when they are first needed, and once. */
export function openContext(config: ServiceConfig, given: DoctorOptions, server: EmbeddedState) {
  const { clock, scrub } = given;
  const ended = new AbortController();
  const signal = AbortSignal.any([given.signal, ended.signal]);
  const transport = createTransport({
    baseUrl: config.service.url,
    clock,
    userAgent: `research-mirror/${programVersion()}`,
    limits: REQUEST_LIMITS,
    proxy: config.proxy,
  });
  const closers: (() => Promise<void>)[] = [];

  /**
   * Asks for `path` with one key, once. No slot is reserved, since nothing is to be written: the request counts as one
   * of another user of the key, for which MIRROR_BUDGET_SHARE leaves room.
   * @param understand may throw, of an answer that says something else
   * @throws a classified error, which says what was asked; the signal's reason
   */
  async function read<T>(key: Secret, path: string, understand: (answer: HttpAnswer) => T): Promise<T> {
    const answer = await transport.get(path, key.reveal(), signal, 'page');
    const refused = refusal(`GET ${path}`, answer, scrub, clock.now());
    if (refused !== undefined) throw refused;
    if (answer.bodyError !== undefined) throw answer.bodyError;
    try {
      refuseOtherSuccess(answer.status);
      return understand(answer);
    } catch (error) {
      throw new MalformedAnswer(`GET ${path} was answered ${answer.status}, but ${messageOf(error)}`);
    }
  }

  async function ping(at: number, key: Secret): Promise<Ping> {
    const askedAt = clock.now();
    try {
      const answer = await read(key, '/v1/ping', ({ text, headers }) => {
        const owner = ownerOf(readObject(text));
        if (owner === undefined) throw new MalformedAnswer('without a user_id that is a 64-bit integer');
        return { owner, headers };
      });
      return { at, key, ...answer, askedAt, answeredAt: clock.now() };
    } catch (error) {
      signal.throwIfAborted();
      return { at, key, error, askedAt, answeredAt: clock.now() };
    }
  }

  /** One for each key, in their order; where the first one finds no service, that one alone. */
  const pings = once(async (): Promise<readonly Ping[]> => {
    const all: Ping[] = [];
    for (const [at, key] of config.service.keys.slice(0, 1).entries()) all[at] = await ping(at, key);
    if (!isAnswered(all[0]?.error)) return all;
    await forEachConcurrently([...config.service.keys.entries()].slice(1), AT_A_TIME, async ([at, key]) => {
      all[at] = await ping(at, key);
    });
    return all;
  });

  async function open(): Promise<ReachedDatabase & { readonly db: Db }> {
    const reached = await reachDatabase(config.database, { ...given, signal, command: 'doctor' });
    closers.push(reached.leave);
    const { schema } = config;
    const connection = { ...reached.connection, schema, max: 2, bounds: STATEMENT_BOUNDS };
    const opened = await openDatabase(connection);
    closers.push(() => opened.close());
    return { ...reached, db: opened.db };
  }
  let opening: ReturnType<typeof open> | undefined;

  /** The mirror's database, reached as `start` reaches it. @throws DatabaseUnavailable, Unusable */
  const database = (): ReturnType<typeof open> => (opening ??= open());

  /** Migrations that the next start applies. @throws Unusable where this program may not run on the database */
  async function pending(): Promise<readonly string[]> {
    const { db } = await database();
    return pendingMigrations({ db, folder: MIGRATIONS, version: programVersion() });
  }

  /** The database with a mirror of this version in it; undefined: the next start makes it. */
  const mirror = once(async (): Promise<Db | undefined> => {
    if (server === 'absent' || (await pending()).length > 0) return undefined;
    return (await database()).db;
  });

  return {
    config,
    clock,
    /** Aborted when the user interrupts the program, and at the end. */
    signal,
    /** The embedded server; `running` where the database is DATABASE_URL's. */
    server,
    read,
    pings,
    database,
    pending,
    mirror,
    /** Ends what is still under way, and closes everything. */
    async close(): Promise<void> {
      ended.abort(new Error('the time for this check is over'));
      await transport.close();
      await opening?.catch(() => {});
      for (const each of closers.toReversed()) await each();
    },
  };
}

/** Whether a ping was answered by the service: a refused key is its answer, too. */
export function isAnswered(error: unknown): boolean {
  return error === undefined || error instanceof KeyRefused || error instanceof RateLimited;
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
