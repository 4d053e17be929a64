import { type Driver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { Db } from './db.ts';
import { type Connection, type ConnectionOptions, createPool, resolveConnection } from './pool.ts';

export interface DatabaseOptions extends ConnectionOptions {
  /** MIRROR_SCHEMA. */
  readonly schema: string;
  /** Most connections. Default 10. */
  readonly max?: number;
  /** Bounds of each transaction; default `TRANSACTION_BOUNDS`. */
  readonly bounds?: TransactionBounds;
}

/**
 * In milliseconds; 0: no bound. `SET LOCAL` in every transaction, so that they work through a pooler. A hung owner
 * blocks its account's row no longer than this (docs/design/ownership.md, "Takeover"). Both are shorter than the 8 s
 * that a stop may take.
 */
export const TRANSACTION_BOUNDS = { statement: 6_000, idle: 5_000 };
export type TransactionBounds = Readonly<typeof TRANSACTION_BOUNDS>;

/** Time to wait for an answer beyond the statement's bound, ms: a network may drop packets unnoticed. */
const NETWORK_MARGIN = 4_000;

/** An open database. Errors of all its queries are classified (sql-state.ts). */
export type Database = Awaited<ReturnType<typeof openDatabase>>;

/**
 * Opens a pool on `url`, after trying one connection.
 * @throws DatabaseUnavailable, Unusable: the message has the remedy, and no password
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
    /** The same connections without their queue, for what other processes wait for. Short statements only. */
    urgent: dbOf(() => pool.urgent()),
    kysely: db.kysely,
    /**
     * Additional connections for what must not wait for a free one; if the server refuses them, the others are used.
     * Closed with the database.
     */
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
    // Explicit, since a database or role may have another default: a statement that waited for a lock must see what the
    // lock's owner committed.
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
