import { readObject } from '../../api/envelope.ts';
import { refusal, refuseOtherSuccess } from '../../api/refusal.ts';
import { createTransport, type HttpAnswer, type Transport } from '../../api/transport.ts';
import type { AnswerHeaders } from '../../budget/budget.ts';
import type { ServiceConfig } from '../../config/config.ts';
import type { Secret } from '../../config/secret.ts';
import { openDatabase } from '../../db/connection/database.ts';
import type { Db } from '../../db/connection/db.ts';
import { pendingMigrations } from '../../db/migrations/run-migrations.ts';
import { ownIdentity } from '../../db/ownership/process-identity.ts';
import { KeyRefused, MalformedAnswer, RateLimited } from '../../model/errors.ts';
import { ownerOf } from '../../sync/ownership/owner-of.ts';
import type { EmbeddedState } from '@research-mirror/embedded-postgres/embedded-state';
import type { Clock } from '@research-mirror/runtime/clock';
import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
import type { Logger } from '@research-mirror/runtime/logger';
import { messageOf } from '@research-mirror/runtime/message';
import { type ReachedDatabase, reachDatabase } from '../process/reach-database.ts';
import { daemonLives } from '../process/submit-carrier.ts';
import { MIGRATIONS, programVersion } from '../program-files.ts';

/** Milliseconds, of requests and of statements: a user waits for the answer. */
const REQUEST_LIMITS = { connectMs: 5_000, headersMs: 8_000, totalMs: 10_000 };
const STATEMENT_BOUNDS = { statement: 5_000, idle: 5_000 };
/** Keys that are used at a time. */
export const AT_A_TIME = 5;

export interface DoctorOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Takes the embedded server's password. */
  readonly hide: (secret: string) => void;
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

interface OpenDatabase extends Pick<ReachedDatabase, 'direct' | 'words'> {
  readonly db: Db;
}

/** What the checks look at: requests and connections are made when they are first needed, and once. */
export class Context {
  readonly config: ServiceConfig;
  readonly clock: Clock;
  /** Aborted when the user interrupts the program, and at the end. */
  readonly signal: AbortSignal;
  /** The embedded server; `running` where the database is DATABASE_URL's. */
  readonly server: EmbeddedState;
  readonly #options: DoctorOptions;
  readonly #transport: Transport;
  readonly #ended = new AbortController();
  readonly #closers: (() => Promise<void>)[] = [];
  #opening: Promise<OpenDatabase> | undefined;

  constructor(config: ServiceConfig, options: DoctorOptions, server: EmbeddedState) {
    this.config = config;
    this.clock = options.clock;
    this.signal = AbortSignal.any([options.signal, this.#ended.signal]);
    this.server = server;
    this.#options = options;
    this.#transport = createTransport({
      baseUrl: config.service.url,
      clock: options.clock,
      userAgent: `research-mirror/${programVersion()}`,
      limits: REQUEST_LIMITS,
      proxy: config.proxy,
    });
  }

  /** Ends what is still under way, and closes everything. */
  async close(): Promise<void> {
    this.#ended.abort(new Error('the time for this check is over'));
    await this.#transport.close();
    await this.#opening?.catch(() => {});
    for (const each of this.#closers.toReversed()) await each();
  }

  /**
   * Asks for `path` with one key, once. No slot is reserved, since nothing is to be written: the request counts as one
   * of another user of the key, for which MIRROR_BUDGET_SHARE leaves room.
   * @param read may throw, of an answer that says something else
   * @param statuses those of an answer
   * @throws a classified error, which says what was asked; the signal's reason
   */
  async read<T>(
    key: Secret,
    path: string,
    read: (answer: HttpAnswer) => T,
    statuses: readonly number[] = [200],
  ): Promise<T> {
    const answer = await this.#transport.get(path, key.reveal(), this.signal, 'page');
    const isAnswer = statuses.includes(answer.status);
    const refused = refusal(`GET ${path}`, answer, this.#options.scrub, this.clock.now());
    if (refused !== undefined && !isAnswer) throw refused;
    if (answer.bodyError !== undefined) throw answer.bodyError;
    try {
      if (!isAnswer) refuseOtherSuccess(answer.status);
      return read(answer);
    } catch (error) {
      throw new MalformedAnswer(`GET ${path} was answered ${answer.status}, but ${messageOf(error)}`);
    }
  }

  /** One for each key, in their order; where the first one finds no service, that one alone. */
  readonly pings = once(async (): Promise<readonly Ping[]> => {
    const [first, ...others] = this.config.service.keys.entries();
    if (first === undefined) return [];
    const pings = [await this.#ping(first)];
    if (!isAnswered(pings[0]?.error)) return pings;
    await forEachConcurrently(others, AT_A_TIME, async (each) => {
      pings[each[0]] = await this.#ping(each);
    });
    return pings;
  });

  async #ping([at, key]: [number, Secret]): Promise<Ping> {
    const askedAt = this.clock.now();
    try {
      const answer = await this.read(key, '/v1/ping', ({ text, headers }) => {
        const owner = ownerOf(readObject(text));
        if (owner === undefined) throw new MalformedAnswer('without a user_id that is a 64-bit integer');
        return { owner, headers };
      });
      return { at, key, ...answer, askedAt, answeredAt: this.clock.now() };
    } catch (error) {
      this.signal.throwIfAborted();
      return { at, key, error, askedAt, answeredAt: this.clock.now() };
    }
  }

  /** The mirror's database, reached as `start` reaches it. @throws DatabaseUnavailable, Unusable */
  database(): Promise<OpenDatabase> {
    return (this.#opening ??= this.#open());
  }

  async #open(): Promise<OpenDatabase> {
    const { database, schema } = this.config;
    const options = { ...this.#options, signal: this.signal, command: 'doctor' };
    const reached = await reachDatabase(database, options);
    this.#closers.push(reached.leave);
    const connection = { ...reached.connection, schema, max: 2, bounds: STATEMENT_BOUNDS };
    const opened = await openDatabase(connection);
    this.#closers.push(() => opened.close());
    return { db: opened.db, direct: reached.direct, words: reached.words };
  }

  /** Migrations that the next start applies. @throws Unusable where this program may not run on the database */
  async pending(): Promise<readonly string[]> {
    const { db } = await this.database();
    return pendingMigrations({ db, folder: MIGRATIONS, version: programVersion() });
  }

  /** The database with a mirror of this version in it; undefined: the next start makes it. */
  readonly mirror = once(async (): Promise<Db | undefined> => {
    if (this.server === 'absent' || (await this.pending()).length > 0) return undefined;
    return (await this.database()).db;
  });

  /** Whether a daemon of this mirror runs; false where that can't be known. */
  async daemonLives(): Promise<boolean> {
    try {
      const db = await this.mirror();
      return db !== undefined && (await daemonLives(db, await ownIdentity()));
    } catch {
      return false;
    }
  }
}

/** Whether a ping was answered by the service: a refused key is its answer, too. */
export function isAnswered(error: unknown): boolean {
  return error === undefined || error instanceof KeyRefused || error instanceof RateLimited;
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}
