/** Connections: how they are made, pooled and pinned, and Kysely's driver over them. */

import { systemClock } from '@research-mirror/runtime/clock';
import { Places } from '@research-mirror/runtime/concurrency/places';
import { Unusable } from '@research-mirror/runtime/errors';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import type { Socket } from 'node:net';
import pg from 'pg';
import { Db } from './db.ts';
import { isDirect, type PgVariables, readDsn, systemUser, type Tls, tlsWays } from './dsn.ts';
import { breaksConnection, databaseError, driverProblem, isReadOnlySession, sqlState } from './sql-state.ts';

export interface ConnectionOptions {
  /** A secret: no message shows it. */
  readonly url: string;
  /** libpq's variables; they fill what the URL leaves out. */
  readonly variables?: PgVariables;
  /** `application_name` if URL and variables have none: `research-mirror start`. */
  readonly program: string;
  /** User instead of the URL's. Its password, if any, is in `.pgpass`. */
  readonly as?: string;
}

/** Longest time to connect, ms. */
const CONNECT_TIMEOUT = 10_000;
/** Time until an idle connection is closed, ms: more than the usual interval of polls, a minute. */
const IDLE_TIMEOUT = 90_000;
/** Delay before the next attempt to connect if one failed and other connections work, ms. */
const TRY_AGAIN = 500;

/**
 * Settings of a connection, after an attempt that also decides about TLS if sslmode leaves that open. Without startup
 * options of ours, which a transaction pooler refuses.
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
    // Detects within about 20 s that the peer is gone, even if the connection only listens.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    sslnegotiation: isDirect(tls) ? 'direct' : 'postgres',
  };
  const tryOut = async (ssl: Tls): Promise<pg.ClientConfig> => {
    // A statement pooler refuses this and hangs up; its message might be lost if more were sent.
    await onConnection({ ...base, ssl }, (client) => client.query('begin'));
    return { ...base, ssl };
  };
  const [first, otherwise] = tlsWays(tls);
  try {
    return await tryOut(first).catch((error: unknown) => {
      // The server has no TLS, or rejects this kind of connection (pg_hba.conf).
      const isAboutTls = driverProblem(error) === 'no-tls' || sqlState(error) === '28000';
      if (otherwise === undefined || !isAboutTls) throw error;
      return tryOut(otherwise);
    });
  } catch (error) {
    throw databaseError(error);
  }
}

/** Runs `work` on a connection of its own. If it breaks, the current or next statement fails. */
export async function onConnection<T>(config: pg.ClientConfig, work: (client: pg.Client) => Promise<T>) {
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
 * Connections for Kysely. Errors are classified, and no connection is kept in an unknown state. If all are in use,
 * callers queue without a time-out, since a busy program is no failure of the database. (The time-out of pg's pool also
 * applies to its queue: a thousand accounts failed in turns and retried for ever.) Urgent callers bypass the queue, and
 * one of more than two connections is kept free for them. If connecting fails while other connections work, a caller
 * waits for one of those, as long as connecting may take; if none works, all waiting callers get the error.
 * @param instead used if this pool has no connection and the server refuses one: the `urgent` of another pool
 */
export function createPool(
  config: pg.PoolConfig & { readonly max: number },
  instead?: (leave: () => void) => Promise<Connection>,
) {
  const { max, connectionTimeoutMillis = CONNECT_TIMEOUT } = config;
  const pool = new pg.Pool({ ...config, idleTimeoutMillis: IDLE_TIMEOUT, pipeline: true });
  const connections = new Map<pg.PoolClient, Connection>();
  const line = new Places(max > 2 ? max - 1 : max);
  // The pool replaces a broken idle connection; the next query meets the cause.
  pool.on('error', () => {});
  // At once: the server may report an error (57P01) before the pool hands out the connection, and an error without a
  // listener ends the process.
  pool.on('connect', (client) => connections.set(client, new Connection(client, pool, connections)));
  pool.on('remove', (client) => connections.delete(client));
  /** @param leave called when the connection is released, or if there is none */
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
        // Else each queued caller would try in vain.
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

/** Ends an abandoned session, which may keep locks for hours after the server's clock was set back. No pooler's. */
const END_SESSION = `select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
  where pid = $1 and client_port = $2 and usename = current_user`;

const BEGIN = 'begin isolation level';
/** Statements that PostgreSQL refuses in a transaction, or that concern the session. */
const NO_TRANSACTION =
  /^(?:set|vacuum|alter system|create database|drop database|create index concurrently|drop index concurrently) /;

/** A connection of the pool as Kysely uses it. */
export class Connection implements DatabaseConnection {
  readonly #client: pg.PoolClient;
  readonly #pool: pg.Pool;
  readonly #ofPool: ReadonlyMap<unknown, Connection>;
  /** Process and port of the session, as in pg_stat_activity. A Unix socket has the port -1. */
  readonly #session: readonly unknown[];
  isBroken = false;
  /** Made while sessions were read-only. */
  isStale = false;
  #isUnanswered = false;
  #transaction: 'none' | 'open' | 'ended' = 'none';
  /** Sent, with no statement behind it yet: the start of a transaction. */
  #begun: Promise<unknown> | undefined;
  /** Frees the place of the connection's user. */
  leave = (): void => {};

  constructor(client: pg.PoolClient, pool: pg.Pool, ofPool: ReadonlyMap<unknown, Connection>) {
    this.#client = client;
    this.#pool = pool;
    this.#ofPool = ofPool;
    const { processID } = client as unknown as { readonly processID: number };
    this.#session = [processID, (client.connection.stream as Partial<Socket>).localPort ?? -1];
    // The current or next statement is rejected with the error.
    client.on('error', () => (this.isBroken = true));
  }

  release(): void {
    this.#transaction = 'none';
    this.#client.release(this.isBroken || this.isStale);
    if (this.#isUnanswered) this.#pool.query(END_SESSION, [...this.#session]).catch(() => {});
    this.leave();
  }

  /** Costs no round trip: the next statement is sent with it and reports its failure, which breaks the connection. */
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
    // A broken connection has ended it, and the driver's error would hide the first one.
    if (!this.isBroken) await this.#send('rollback');
  }

  /** A statement outside of a transaction gets one, for the pinned settings: three messages, one round trip. */
  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#transaction === 'ended') throw new RangeError('the transaction has ended');
    const isAlone = this.#transaction === 'none' && !NO_TRANSACTION.test(sql);
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
    throw new RangeError('queries are not streamed');
  }

  async #send(text: string, parameters: readonly unknown[] = []): Promise<pg.QueryResult> {
    try {
      const result = (await this.#client.query(text, [...parameters])) as pg.QueryResult | pg.QueryResult[];
      // Of several statements in one text, the last result.
      return Array.isArray(result) ? (result.at(-1) as pg.QueryResult) : result;
    } catch (error) {
      this.isBroken ||= breaksConnection(error) || text === 'rollback';
      this.#isUnanswered ||= driverProblem(error) === 'unanswered';
      if (isReadOnlySession(error)) for (const each of this.#ofPool.values()) each.isStale = true;
      throw databaseError(error);
    }
  }
}

/** Pins, for a transaction, settings that change how SQL is read or printed (docs/design/login-settings.md). */
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
 * Checks settings that are not pinned: not every PostgreSQL knows them, or a DBA's triggers depend on them.
 * @throws Unusable: the program can't work with a setting of the login, database or server
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
    `the database's user has ${found.name} = ${found.value}: ${found.why}. Nothing was touched. Run "${found.remedy}", then start again`,
  );
}

export interface DatabaseOptions extends ConnectionOptions {
  /** MIRROR_SCHEMA. */
  readonly schema: string;
  /** Most connections. Default 10. */
  readonly max?: number;
  readonly bounds?: TransactionBounds;
}

/**
 * Bounds of each transaction, ms; 0: no bound. `SET LOCAL` works through a pooler. A hung owner locks its account's row
 * no longer than this (docs/design/ownership.md, "Takeover"). Both are shorter than a stop may take, 8 s.
 */
export const TRANSACTION_BOUNDS = { statement: 6_000, idle: 5_000 };
export type TransactionBounds = Readonly<typeof TRANSACTION_BOUNDS>;

/** Wait for an answer beyond the statement's bound, ms: a network may drop packets unnoticed. */
const NETWORK_MARGIN = 4_000;

export type Database = Awaited<ReturnType<typeof openDatabase>>;

/**
 * Opens a pool on `url` after trying one connection. Errors of all queries are classified (sql-state.ts).
 * @throws DatabaseUnavailable, Unusable: the message has the remedy and no password
 */
export async function openDatabase(options: DatabaseOptions) {
  const { schema, max = 10, bounds = TRANSACTION_BOUNDS } = options;
  const config = {
    ...(await resolveConnection(options)),
    query_timeout: bounds.statement === 0 ? 0 : bounds.statement + NETWORK_MARGIN,
  };
  const dbOf = (connect: () => Promise<Connection>): Db => new Db(kyselyOn(connect, bounds), schema);
  const pool = createPool({ ...config, max });
  const pools = [pool];
  const db = dbOf(pool.connect);
  let closed: Promise<unknown> | undefined;
  return {
    db,
    /** The same connections without their queue, for short statements that other processes wait for. */
    urgent: dbOf(() => pool.urgent()),
    kysely: db.kysely,
    /** Additional connections for work that must not wait for a free one. If the server refuses them: `urgent`. */
    beside: (more: number): Db => {
      const other = createPool({ ...config, max: more }, pool.urgent);
      pools.push(other);
      return dbOf(other.connect);
    },
    /** Kysely itself ends only a pool that it has used. */
    close: async (): Promise<void> => {
      await (closed ??= Promise.all(pools.map((each) => each.end())));
    },
  };
}

/** Kysely whose transactions begin with their settings and bounds. */
function kyselyOn(connect: () => Promise<Connection>, { statement, idle }: TransactionBounds) {
  const settings =
    `set local statement_timeout = ${Math.trunc(statement)}; ` +
    `set local idle_in_transaction_session_timeout = ${Math.trunc(idle)}`;
  const driver: Driver = {
    init: async () => {},
    acquireConnection: connect,
    // Explicit, since the default may differ: a statement that waited for a lock must see what its holder committed.
    async beginTransaction(connection: Connection, { isolationLevel = 'read committed', accessMode = '' }) {
      connection.begin(`${isolationLevel} ${accessMode}`, settings);
    },
    commitTransaction: (connection: Connection) => connection.commit(),
    rollbackTransaction: (connection: Connection) => connection.rollback(),
    releaseConnection: async (connection: Connection) => connection.release(),
    destroy: async () => {},
  };
  return new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}
