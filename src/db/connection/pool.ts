import type { Socket } from 'node:net';
import pg from 'pg';
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import { systemClock } from '@research-mirror/runtime/clock';
import { Places } from '@research-mirror/runtime/concurrency/places';
import { readDsn, systemUser, type PgVariables } from './dsn.ts';
import { PIN_SETTINGS } from './pinned-settings.ts';
import { breaksConnection, databaseError, driverProblem, isReadOnlySession, sqlState } from './sql-state.ts';
import { isDirect, tlsWays } from './tls.ts';

export interface ConnectionOptions {
  /** A secret: no message shows it. */
  readonly url: string;
  /** libpq's variables; they fill what the URL leaves out. */
  readonly variables?: PgVariables;
  /** `application_name` where URL and variables have none: `research-mirror start`. */
  readonly program: string;
  /** Logs in as this user instead of the URL's, without a password: the server asks for none, or `.pgpass` has it. */
  readonly as?: string;
}

/** Milliseconds to wait for a connection. */
const CONNECT_TIMEOUT = 10_000;
/**
 * Milliseconds until an idle connection is closed: more than a minute, since that is how often accounts are polled. To
 * make a connection anew costs the server a process, and the process its catalogue.
 */
const IDLE_TIMEOUT = 90_000;
/** Milliseconds until another connection is tried, where one could not be made and others work. */
const TRY_AGAIN = 500;

/**
 * The settings of a connection, after an attempt that also finds out whether the server wants TLS where sslmode leaves
 * that open. They have no startup options, which a transaction pooler refuses.
 * @throws DatabaseUnavailable, Unusable
 */
export async function resolveConnection(options: ConnectionOptions): Promise<pg.ClientConfig> {
  const dsn = readDsn(options.url, options.variables ?? {});
  const user = options.as ?? dsn.user ?? systemUser();
  const base: pg.ClientConfig = {
    host: dsn.host,
    port: dsn.port,
    user,
    password: options.as === undefined ? dsn.password : undefined,
    database: dsn.database ?? dsn.user ?? user,
    application_name: dsn.applicationName ?? options.program,
    connectionTimeoutMillis: dsn.connectTimeout ?? CONNECT_TIMEOUT,
    // Notices within some 20 s that the peer has vanished, even on a connection that only listens.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...(dsn.options === undefined ? {} : { options: dsn.options }),
    sslnegotiation: isDirect(dsn.tls) ? 'direct' : 'postgres',
  };
  const [first, otherwise] = tlsWays(dsn.tls);
  try {
    return await tryOut({ ...base, ssl: first }).catch((error: unknown) => {
      if (otherwise === undefined || !isAboutTls(error)) throw error;
      return tryOut({ ...base, ssl: otherwise });
    });
  } catch (error) {
    throw databaseError(error);
  }
}

async function tryOut(config: pg.ClientConfig): Promise<pg.ClientConfig> {
  const client = new pg.Client(config);
  client.on('error', () => {});
  try {
    await client.connect();
    // A pooler that pools by statement refuses it and hangs up: with more sent behind it, its words may be lost.
    await client.query('begin');
    return config;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Whether the server has no TLS, or does not let us in by this way of connecting (pg_hba.conf: 28000). */
function isAboutTls(error: unknown): boolean {
  return driverProblem(error) === 'no-tls' || sqlState(error) === '28000';
}

export interface PoolOptions {
  readonly max: number;
  /**
   * Milliseconds after which an unanswered statement and its connection are given up: nothing else notices a network
   * that drops packets. Longer than any statement_timeout.
   */
  readonly answerWithin: number;
  /** Where this pool has no connection and the server refuses one, that one's are used. */
  readonly instead?: Connections;
}

/** Connections of a pool for whom its line does not hold. */
export interface Connections extends PostgresPool {
  /** @param leave called when the connection is given back, or when there is none */
  connect(leave?: () => void): Promise<PostgresPoolClient>;
}

/**
 * A pool for Kysely that classifies errors, and keeps no connection in an unknown state. Who finds every connection in
 * use waits in line, however long: that the program is busy is no failure of the database. (The time-out of pg's own
 * pool holds for its line, too: a thousand accounts at work failed in turns, and tried again for ever.) Urgent ones do
 * not wait in that line, and of more than two connections one is kept free for them. Where no connection can be made
 * and none works, all who wait get the error. While others work, as where the server has no more of them to give, who
 * got none waits for one of those, as long as a connection may take to be made.
 */
export function createPool(
  config: pg.ClientConfig,
  { max, answerWithin, instead }: PoolOptions,
): PostgresPool & { readonly urgent: Connections } {
  const pool = new pg.Pool({
    ...config,
    max,
    idleTimeoutMillis: IDLE_TIMEOUT,
    query_timeout: answerWithin,
    pipeline: true,
  });
  // The pool replaces an idle connection that breaks; the next query meets the cause.
  pool.on('error', () => {});
  const endSession: EndSession = (...session) => void pool.query(END_SESSION, session).catch(() => {});
  const guarded = new Map<pg.PoolClient, GuardedClient>();
  /** One is read-only for good: so may be others that began before, which are not used again either. */
  const allBegunSoFar = (): void => {
    for (const each of guarded.values()) each.isStale = true;
  };
  // At once: a server may report an error (57P01) before the pool hands out the connection, and an error without a
  // listener ends the process.
  pool.on('connect', (client) => {
    guarded.set(client, new GuardedClient(client, endSession, allBegunSoFar));
  });
  pool.on('remove', (client) => guarded.delete(client));
  const places = new Places(max > 2 ? max - 1 : max);
  const notStale = async (): Promise<GuardedClient> => {
    for (;;) {
      const client = guarded.get(await pool.connect()) as GuardedClient;
      if (!client.isStale) return client;
      client.release();
    }
  };
  const take = async (leave: () => void): Promise<PostgresPoolClient> => {
    let failure: unknown;
    let until = Infinity;
    for (;;) {
      try {
        const client = await notStale();
        client.taken(leave);
        return client as unknown as PostgresPoolClient;
      } catch (error) {
        const working = [...guarded.values()].filter(({ isBroken }) => !isBroken).length;
        if (working === 0 && instead !== undefined && sqlState(error) !== undefined) {
          return instead.connect(leave);
        }
        if (working === 0) places.refuse(databaseError(error));
        if (working === 0 || systemClock.monotonic() >= until) {
          leave();
          throw databaseError(failure ?? error);
        }
        if (driverProblem(error) !== 'line' && failure === undefined) {
          failure = error;
          until = systemClock.monotonic() + (config.connectionTimeoutMillis ?? CONNECT_TIMEOUT);
        }
        // Else each in line would try in vain.
        pool.options.max = working;
        void systemClock.sleep(TRY_AGAIN).then(() => (pool.options.max = max));
      }
    }
  };
  const common = { options: pool.options, end: () => pool.end() };
  const urgent = { ...common, connect: (leave = (): void => {}) => take(leave) };
  return { ...common, connect: async () => take(await places.take()), urgent };
}

/**
 * Ends the session of an answer that was given up: the server may not, for hours, where its clock was set back and its
 * time-outs with it, and would keep the locks. Through a pooler the port is another's, and nothing is ended.
 */
const END_SESSION = `select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
  where pid = $1 and client_port = $2 and usename = current_user`;
type EndSession = (processID: number, localPort: number) => void;

/** The first statement of a transaction, which is sent together with the next one. */
export const BEGIN = 'begin isolation level';

/** Before a statement that has no transaction: it gets one, in which the settings hold. */
const BEGIN_ALONE = `${BEGIN} read committed; ${PIN_SETTINGS}`;
/** What PostgreSQL refuses in a transaction, and what is to last for the session. */
const OUTSIDE =
  /^(?:set|vacuum|alter system|create database|drop database|create index concurrently|drop index concurrently) /;

/** The answer of what is not waited for. */
const NOTHING = { command: '', rowCount: null, rows: [], oid: 0, fields: [] };

/** A connection of the pool as Kysely uses it: without cursors. */
class GuardedClient {
  readonly #client: pg.PoolClient;
  readonly #endSession: EndSession;
  readonly #onReadOnly: () => void;
  readonly #session: Parameters<EndSession>;
  /** It can't be used any more, as far as known. */
  isBroken = false;
  /** It began when sessions were read-only. */
  isStale = false;
  #isUnanswered = false;
  #leave = (): void => {};
  #inTransaction = false;
  /** A transaction's beginning that was sent, while the next statement is not. */
  #begun: Promise<pg.QueryResult> | undefined;

  constructor(client: pg.PoolClient, endSession: EndSession, onReadOnly: () => void) {
    this.#client = client;
    this.#endSession = endSession;
    this.#onReadOnly = onReadOnly;
    const { processID, connection } = client as unknown as {
      processID: number;
      connection: { stream: Partial<Socket> };
    };
    // As pg_stat_activity has it: a Unix socket has no port.
    this.#session = [processID, connection.stream.localPort ?? -1];
    // It broke while in use: the current statement, or the next one, is rejected with the error.
    client.on('error', () => (this.isBroken = true));
  }

  /** @param leave gives up the place of who has the connection now */
  taken(leave: () => void): void {
    this.#leave = leave;
    this.#inTransaction = false;
  }

  /**
   * The beginning of a transaction costs no round trip of its own: the next statement is sent with it, and answers for
   * both. (If it fails there is no transaction, but then there is no connection either.)
   */
  async query(text: string, parameters: readonly unknown[]): Promise<pg.QueryResult> {
    // It has ended already. Asked, the driver's error would hide the first one.
    if (this.isBroken && text === 'rollback') return NOTHING;
    if (text.startsWith(BEGIN)) {
      this.#inTransaction = true;
      this.#begun = this.#send(text, parameters);
      this.#begun.catch(() => {});
      return NOTHING;
    }
    if (!this.#inTransaction && !OUTSIDE.test(text)) return this.#alone(text, parameters);
    if (text === 'commit' || text === 'rollback') this.#inTransaction = false;
    const begun = this.#begun;
    this.#begun = undefined;
    const answer = this.#send(text, parameters);
    if (begun === undefined) return answer;
    return (await Promise.all([begun, answer]))[1];
  }

  /** A statement in a transaction of its own: three messages, one round trip. */
  async #alone(text: string, parameters: readonly unknown[]): Promise<pg.QueryResult> {
    const sent = [
      this.#send(BEGIN_ALONE, []),
      this.#send(text, parameters),
      this.#send('commit', []),
    ] as const;
    await Promise.allSettled(sent);
    return (await Promise.all(sent))[1];
  }

  async #send(text: string, parameters: readonly unknown[]): Promise<pg.QueryResult> {
    try {
      const result = (await this.#client.query(text, [...parameters])) as pg.QueryResult | pg.QueryResult[];
      // Of several statements in one text, as at the beginning of a transaction, the last one's result.
      const last = Array.isArray(result) ? result.at(-1) : result;
      if (last === undefined) throw new RangeError('a text without a statement');
      return last;
    } catch (error) {
      if (breaksConnection(error)) this.isBroken = true;
      if (isReadOnlySession(error)) this.#onReadOnly();
      if (driverProblem(error) === 'unanswered') this.#isUnanswered = true;
      throw databaseError(error);
    }
  }

  release(discard?: boolean): void {
    this.isBroken ||= discard === true;
    this.#client.release(this.isBroken || this.isStale);
    if (this.#isUnanswered) this.#endSession(...this.#session);
    this.#leave();
  }
}
