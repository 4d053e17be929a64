import { systemClock } from '@research-mirror/runtime/clock';
import { Places } from '@research-mirror/runtime/concurrency/places';
import { Unusable } from '@research-mirror/runtime/errors';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type { Socket } from 'node:net';
import pg from 'pg';
import type { Db } from './db.ts';
import { isDirect, type PgVariables, readDsn, systemUser, type Tls, tlsWays } from './dsn.ts';
import { breaksConnection, databaseError, driverProblem, isReadOnlySession, sqlState } from './sql-state.ts';

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
  const { tls, ...given } = readDsn(options.url, options.variables ?? {});
  const user = options.as ?? given.user ?? systemUser();
  const base: pg.ClientConfig = {
    ...given,
    user,
    password: options.as === undefined ? given.password : undefined,
    database: given.database ?? given.user ?? user,
    application_name: given.application_name ?? options.program,
    connectionTimeoutMillis: given.connectionTimeoutMillis ?? CONNECT_TIMEOUT,
    // Notices within some 20 s that the peer has vanished, even on a connection that only listens.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    sslnegotiation: isDirect(tls) ? 'direct' : 'postgres',
  };
  const tryOut = async (ssl: Tls): Promise<pg.ClientConfig> => {
    // A pooler that pools by statement refuses it and hangs up: with more sent behind it, its words may be lost.
    await onConnection({ ...base, ssl }, (client) => client.query('begin'));
    return { ...base, ssl };
  };
  const [first, otherwise] = tlsWays(tls);
  try {
    return await tryOut(first).catch((error: unknown) => {
      // The server has no TLS, or does not let us in by this way of connecting (pg_hba.conf).
      const isAboutTls = driverProblem(error) === 'no-tls' || sqlState(error) === '28000';
      if (otherwise === undefined || !isAboutTls) throw error;
      return tryOut(otherwise);
    });
  } catch (error) {
    throw databaseError(error);
  }
}

/** Does `work` on a connection of its own. When that breaks, the statement under way fails, or the next one. */
export async function onConnection<T>(
  config: pg.ClientConfig,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(config);
  client.on('error', () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Connections for Kysely: errors are classified, and no connection is kept in an unknown state. Who finds every one in
 * use waits in line, however long: that the program is busy is no failure of the database. (The time-out of pg's own
 * pool holds for its line, too: a thousand accounts at work failed in turns, and tried again for ever.) Urgent ones do
 * not wait in that line, and of more than two connections one is kept free for them. Where no connection can be made
 * and none works, all who wait get the error. While others work, as where the server has no more of them to give, who
 * got none waits for one of those, as long as a connection may take to be made.
 * @param instead where this pool has no connection and the server refuses one: the `urgent` of another pool
 */
export function createPool(
  config: pg.PoolConfig & { readonly max: number },
  instead?: (leave: () => void) => Promise<Connection>,
) {
  const { max, connectionTimeoutMillis = CONNECT_TIMEOUT } = config;
  const pool = new pg.Pool({ ...config, idleTimeoutMillis: IDLE_TIMEOUT, pipeline: true });
  const connections = new Map<pg.PoolClient, Connection>();
  const line = new Places(max > 2 ? max - 1 : max);
  // The pool replaces an idle connection that breaks; the next query meets the cause.
  pool.on('error', () => {});
  // At once: a server may report an error (57P01) before the pool hands out the connection, and an error without a
  // listener ends the process.
  pool.on('connect', (client) => connections.set(client, new Connection(client, pool, connections)));
  pool.on('remove', (client) => connections.delete(client));
  /** @param leave called when the connection is given back, or when there is none */
  const urgent = async (leave = (): void => {}): Promise<Connection> => {
    let failure: unknown;
    let until = Infinity;
    for (;;) {
      try {
        const connection = connections.get(await pool.connect()) as Connection;
        if (!connection.isStale) {
          connection.leave = leave;
          return connection;
        }
        connection.release();
      } catch (error) {
        const working = [...connections.values()].filter(({ isBroken }) => !isBroken).length;
        if (working === 0 && instead !== undefined && sqlState(error) !== undefined) return instead(leave);
        if (working === 0) line.refuse(databaseError(error));
        if (working === 0 || systemClock.monotonic() >= until) {
          leave();
          throw databaseError(failure ?? error);
        }
        if (driverProblem(error) !== 'line' && failure === undefined) {
          failure = error;
          until = systemClock.monotonic() + connectionTimeoutMillis;
        }
        // Else each in line would try in vain.
        pool.options.max = working;
        void systemClock.sleep(TRY_AGAIN).then(() => (pool.options.max = max));
      }
    }
  };
  return {
    connect: async () => urgent(await line.take()),
    urgent,
    end: () => pool.end(),
    options: pool.options,
  };
}

/**
 * Ends the session of an answer that was given up: the server may not, for hours, where its clock was set back and its
 * time-outs with it, and would keep the locks. Through a pooler the port is another's, and nothing is ended.
 */
const END_SESSION = `select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
  where pid = $1 and client_port = $2 and usename = current_user`;

const BEGIN = 'begin isolation level';
/** What PostgreSQL refuses in a transaction, and what is to last for the session. */
const OUTSIDE =
  /^(?:set|vacuum|alter system|create database|drop database|create index concurrently|drop index concurrently) /;

/** A connection of the pool as Kysely uses it. */
export class Connection implements DatabaseConnection {
  readonly #client: pg.PoolClient;
  readonly #pool: pg.Pool;
  readonly #ofPool: ReadonlyMap<unknown, Connection>;
  /** Process and port of the server's session, as pg_stat_activity has them: a Unix socket has no port. */
  readonly #session: readonly unknown[];
  /** It can't be used any more, as far as known. */
  isBroken = false;
  /** It began when sessions were read-only. */
  isStale = false;
  #isUnanswered = false;
  #transaction: 'none' | 'open' | 'ended' = 'none';
  /** A transaction's beginning that was sent, while the next statement is not. */
  #begun: Promise<unknown> | undefined;
  /** Gives up the place of who has the connection now. */
  leave = (): void => {};

  constructor(client: pg.PoolClient, pool: pg.Pool, ofPool: ReadonlyMap<unknown, Connection>) {
    this.#client = client;
    this.#pool = pool;
    this.#ofPool = ofPool;
    const { processID } = client as unknown as { readonly processID: number };
    this.#session = [processID, (client.connection.stream as Partial<Socket>).localPort ?? -1];
    // It broke while in use: the current statement, or the next one, is rejected with the error.
    client.on('error', () => (this.isBroken = true));
  }

  release(): void {
    this.#transaction = 'none';
    this.#client.release(this.isBroken || this.isStale);
    if (this.#isUnanswered) this.#pool.query(END_SESSION, [...this.#session]).catch(() => {});
    this.leave();
  }

  /**
   * The beginning of a transaction costs no round trip of its own: the next statement is sent with it, and answers for
   * both. (If it fails there is no transaction, but then there is no connection either.)
   */
  begin(level: string, settings: string): void {
    this.#transaction = 'open';
    this.#begun = this.#send(`${BEGIN} ${level}; ${PIN_SETTINGS}; ${settings}`);
    this.#begun.catch(() => {});
  }

  async commit(): Promise<void> {
    this.#transaction = 'ended';
    await this.#send('commit');
  }

  async rollback(): Promise<void> {
    this.#transaction = 'ended';
    // Else it has ended already, and the driver's error would hide the first one.
    if (!this.isBroken) await this.#send('rollback');
  }

  /** A statement that has no transaction gets one, in which the pinned settings hold: three messages, one round trip. */
  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#transaction === 'ended') throw new RangeError('the transaction has ended');
    const isAlone = this.#transaction === 'none' && !OUTSIDE.test(sql);
    const begun = isAlone ? this.#send(`${BEGIN} read committed; ${PIN_SETTINGS}`) : this.#begun;
    this.#begun = undefined;
    const answer = this.#send(sql, parameters);
    const sent = [begun ?? answer, answer, isAlone ? this.#send('commit') : answer];
    await Promise.allSettled(sent);
    await Promise.all(sent);
    const { rows, rowCount } = await answer;
    return { rows: rows as Row[], numAffectedRows: BigInt(rowCount ?? 0) };
  }

  streamQuery(): never {
    throw new RangeError('nothing is read by a cursor');
  }

  async #send(text: string, parameters: readonly unknown[] = []): Promise<pg.QueryResult> {
    try {
      const result = (await this.#client.query(text, [...parameters])) as pg.QueryResult | pg.QueryResult[];
      // Of several statements in one text, as at the beginning of a transaction, the last one's result.
      return Array.isArray(result) ? (result.at(-1) as pg.QueryResult) : result;
    } catch (error) {
      this.isBroken ||= breaksConnection(error) || text === 'rollback';
      this.#isUnanswered ||= driverProblem(error) === 'unanswered';
      if (isReadOnlySession(error)) for (const each of this.#ofPool.values()) each.isStale = true;
      throw databaseError(error);
    }
  }
}

/**
 * Sets, until the transaction ends, what changes how SQL is read or printed to the values that this program's SQL is
 * written for. A login, a database or a server may have others (docs/design/sql.md, "Settings of the login").
 */
export const PIN_SETTINGS = [
  'standard_conforming_strings = on',
  'array_nulls = on',
  'transform_null_equals = off',
  'quote_all_identifiers = off',
  "datestyle = 'ISO, MDY'",
  'intervalstyle = postgres',
  "timezone = 'UTC'",
  'extra_float_digits = 1',
  'bytea_output = hex',
  'gin_fuzzy_search_limit = 0',
  'exit_on_error = off',
]
  .map((setting) => `set local ${setting}`)
  .join('; ');

/**
 * What is not set for every transaction: not every PostgreSQL knows it, or triggers that a DBA made count on it.
 * @throws Unusable for a login, a database or a server that has it so that the program can't work
 */
export async function throwIfMisread(db: Db): Promise<void> {
  const { rows } = await db.sql<{ name: string; value: string; why: string; remedy: string }>`
    select name, pg_catalog.current_setting(name, true) as value, why,
      pg_catalog.format('alter role %I set %s = %s', session_user, name, instead) as remedy
    from (values
      ('search_path', '"$user", public', 'other schemas come before pg_catalog, and now() may be something else there',
        pg_catalog.strpos(pg_catalog.replace(pg_catalog.current_setting('search_path'), '"', ''), 'pg_catalog')
          operator(pg_catalog.>) 1),
      ('restrict_nonsystem_relation_kind', '''''', 'views or foreign tables can''t be read',
        pg_catalog.current_setting('restrict_nonsystem_relation_kind', true) operator(pg_catalog.<>) '')
    ) as s (name, instead, why, met) where met`;
  const [found] = rows;
  if (found === undefined) return;
  throw new Unusable(
    `the database's user has ${found.name} = ${found.value}: ${found.why}. Nothing was touched; say "${found.remedy}", then start again`,
  );
}
