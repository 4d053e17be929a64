import { type Driver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import { Db } from './db.ts';
import { type Connection, type ConnectionOptions, createPool, resolveConnection } from './pool.ts';

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
