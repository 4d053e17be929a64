import { type Driver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { Db } from './db.ts';
import { type Connection, type ConnectionOptions, createPool, resolveConnection } from './pool.ts';

export interface DatabaseOptions extends ConnectionOptions {
  /** MIRROR_SCHEMA. */
  readonly schema: string;
  /** Connections at most. Default 10. */
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

/** How much longer (ms) than a statement's bound its answer is waited for: a network may drop packets unnoticed. */
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
    /** The same connections, past the line for them: for what another process waits for. Short statements only. */
    urgent: dbOf(() => pool.urgent()),
    kysely: db.kysely,
    /**
     * So many connections more, for what must not wait until one of these is free; where the server refuses them,
     * these are used. Closed with it.
     */
    beside: (more: number): Db => {
      const other = createPool({ ...config, max: more }, pool.urgent);
      pools.push(other);
      return dbOf(other.connect);
    },
    /** Not by Kysely, which ends only a pool that it has used. */
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
    // The level is named, since a database or role may have another default: a statement that waited for a lock must
    // see what the lock's owner committed.
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
