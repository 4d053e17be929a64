import {
  CompiledQuery,
  Kysely,
  PostgresAdapter,
  PostgresDriver,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type DatabaseConnection,
  type PostgresPool,
  type TransactionSettings,
} from 'kysely';
import { Db } from './db.ts';
import { PIN_SETTINGS } from './pinned-settings.ts';
import { BEGIN, createPool, resolveConnection, type ConnectionOptions } from './pool.ts';

export interface DatabaseOptions extends ConnectionOptions {
  /** MIRROR_SCHEMA. */
  readonly schema: string;
  /** Connections at most. Default 10. */
  readonly max?: number;
  /** Bounds of each transaction; default `TRANSACTION_BOUNDS`. */
  readonly bounds?: TransactionBounds;
}

/** In milliseconds; 0: no bound. `SET LOCAL` in every transaction, so that they work through a pooler. */
export interface TransactionBounds {
  readonly statement: number;
  readonly idle: number;
}

/**
 * A hung owner blocks its account's row no longer than this (docs/design/ownership.md, "Takeover"). Both are shorter
 * than the 8 s that a stop may take.
 */
export const TRANSACTION_BOUNDS: TransactionBounds = { statement: 6_000, idle: 5_000 };

/** How much longer (ms) the client waits than a statement's bound, for the network. */
const NETWORK_MARGIN = 4_000;

/** An open database. */
export interface Database {
  /** Errors of all its queries are classified (sql-state.ts). */
  readonly db: Db;
  /** The same connections, past the line for them: for what another process waits for. Short statements only. */
  readonly urgent: Db;
  /** `db.kysely`. */
  readonly kysely: Kysely<unknown>;
  /**
   * So many connections more, for what must not wait until one of these is free; where the server refuses them, these
   * are used. Closed with it.
   */
  readonly beside: (max: number) => Db;
  close(): Promise<void>;
}

/**
 * Opens a pool on `url`, after trying one connection.
 * @throws DatabaseUnavailable, Unusable: the message has the remedy, and no password
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { schema, max = 10, bounds = TRANSACTION_BOUNDS } = options;
  const config = await resolveConnection(options);
  const answerWithin = bounds.statement === 0 ? 0 : bounds.statement + NETWORK_MARGIN;
  const dbOf = (pool: PostgresPool): Db =>
    new Db(
      new Kysely<unknown>({
        dialect: {
          createAdapter: () => new PostgresAdapter(),
          createDriver: () => new BoundedDriver(pool, bounds),
          createIntrospector: (db) => new PostgresIntrospector(db),
          createQueryCompiler: () => new PostgresQueryCompiler(),
        },
      }),
      schema,
    );
  const pool = createPool(config, { max, answerWithin });
  const pools: PostgresPool[] = [pool];
  const db = dbOf(pool);
  let closed: Promise<unknown> | undefined;
  return {
    db,
    urgent: dbOf(pool.urgent),
    kysely: db.kysely,
    beside: (more) => {
      const other = createPool(config, { max: more, answerWithin, instead: pool.urgent });
      pools.push(other);
      return dbOf(other);
    },
    // Not by Kysely, which ends only a pool that it has used.
    close: async () => void (await (closed ??= Promise.all(pools.map((each) => each.end())))),
  };
}

/** Begins each transaction, and sets its settings and bounds, together with its first statement (pool.ts). */
class BoundedDriver extends PostgresDriver {
  readonly #bounds: string;

  constructor(pool: PostgresPool, bounds: TransactionBounds) {
    super({ pool });
    this.#bounds =
      `set local statement_timeout = ${Math.trunc(bounds.statement)}; ` +
      `set local idle_in_transaction_session_timeout = ${Math.trunc(bounds.idle)}`;
  }

  override async beginTransaction(
    connection: DatabaseConnection,
    settings: TransactionSettings,
  ): Promise<void> {
    // Named, since a database or role may have another default: a statement that waited for a lock must see what the
    // lock's owner committed.
    const level = settings.isolationLevel ?? 'read committed';
    const access = settings.accessMode === undefined ? '' : ` ${settings.accessMode}`;
    await connection.executeQuery(
      CompiledQuery.raw(`${BEGIN} ${level}${access}; ${PIN_SETTINGS}; ${this.#bounds}`),
    );
  }
}
