import { userInfo } from 'node:os';
import pg from 'pg';
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import { readDsn, type PgVariables } from './dsn.ts';
import { valueParsers } from './moment-parser.ts';
import { breaksConnection, databaseError } from './sql-state.ts';
import { tlsPlan } from './tls.ts';

export interface ConnectionOptions {
  /** A secret: it is in no message. */
  readonly url: string;
  /** libpq's variables, which fill what the URL leaves out. */
  readonly variables?: PgVariables;
  /** `application_name` where neither says another: `research-mirror start`. */
  readonly program: string;
  /** Logs in as this user instead of the URL's, without a password: where the server asks for none, or `.pgpass` has it. */
  readonly as?: string;
}

/** Milliseconds to wait for a connection. */
const CONNECT_TIMEOUT = 10_000;

/**
 * Settings of one connection, tried out: connects once, which also settles whether the server wants TLS where
 * sslmode leaves that open. No startup options: a transaction pooler refuses them.
 * @throws DatabaseUnavailable, Unusable
 */
export async function resolveConnection(options: ConnectionOptions): Promise<pg.ClientConfig> {
  const dsn = readDsn(options.url, options.variables ?? {});
  const user = options.as ?? dsn.user ?? userInfo().username;
  const plan = tlsPlan(dsn.tls);
  const base: pg.ClientConfig = {
    host: dsn.host,
    port: dsn.port,
    user,
    password: options.as === undefined ? dsn.password : undefined,
    database: dsn.database ?? dsn.user ?? user,
    application_name: dsn.applicationName ?? options.program,
    connectionTimeoutMillis: dsn.connectTimeout ?? CONNECT_TIMEOUT,
    // A peer that vanished without a word is noticed within some 20 s, also by a connection that only listens.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
  const first = { ...base, ssl: plan.first };
  try {
    await tryOut(first);
    return first;
  } catch (error) {
    if (plan.otherwise === undefined || !isAboutTls(error)) throw databaseError(error);
  }
  const otherwise = { ...base, ssl: plan.otherwise };
  try {
    await tryOut(otherwise);
    return otherwise;
  } catch (error) {
    throw databaseError(error);
  }
}

async function tryOut(config: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(config);
  client.on('error', () => {});
  try {
    await client.connect();
  } finally {
    await client.end().catch(() => {});
  }
}

/** The server has no TLS, or pg_hba.conf wants the other way of connecting. */
function isAboutTls(error: unknown): boolean {
  return (
    error instanceof Error && /does not support SSL|no pg_hba\.conf entry|SSL connection/i.test(error.message)
  );
}

export interface PoolOptions {
  readonly max: number;
  /**
   * Milliseconds after which an unanswered statement is given up and its connection with it: a network that swallows
   * packets tells nobody. Longer than any statement_timeout.
   */
  readonly answerWithin: number;
}

/** A pool for Kysely whose errors are classified, and that keeps no connection in an unknown state. */
export function createPool(config: pg.ClientConfig, options: PoolOptions): PostgresPool {
  const pool = new pg.Pool({
    ...config,
    types: valueParsers,
    max: options.max,
    query_timeout: options.answerWithin,
  });
  // An idle connection that breaks is replaced; whoever needs the database will hear of it.
  pool.on('error', () => {});
  const guarded = new WeakMap<pg.PoolClient, GuardedClient>();
  // In the moment in which it stands: what a server says right behind its greeting (57P01) comes before anybody has been
  // handed the connection, and an error that nobody listens for ends the process.
  pool.on('connect', (client) => guarded.set(client, new GuardedClient(client)));
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect(): Promise<PostgresPoolClient> {
      let client: pg.PoolClient;
      try {
        client = await pool.connect();
      } catch (error) {
        throw databaseError(error);
      }
      return guarded.get(client) as unknown as PostgresPoolClient;
    },
  };
}

/** A connection of the pool as Kysely uses it: without cursors. */
class GuardedClient {
  readonly #client: pg.PoolClient;
  #broken = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
    // Breaks while checked out: the statement under way, or the next one, is rejected with it.
    client.on('error', () => {
      this.#broken = true;
    });
  }

  get processID(): number {
    return (this.#client as pg.PoolClient & { readonly processID: number }).processID;
  }

  async query(text: string, parameters: readonly unknown[]): Promise<pg.QueryResult> {
    try {
      const result = (await this.#client.query(text, [...parameters])) as pg.QueryResult | pg.QueryResult[];
      // Several statements in one text, as at the begin of a transaction: the last one's result.
      const last = Array.isArray(result) ? result.at(-1) : result;
      if (last === undefined) throw new RangeError('a text without a statement');
      return last;
    } catch (error) {
      if (breaksConnection(error)) this.#broken = true;
      throw databaseError(error);
    }
  }

  release(discard?: boolean): void {
    this.#client.release(this.#broken || discard === true);
  }
}
