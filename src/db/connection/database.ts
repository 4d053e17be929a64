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
  /** The same connections, before all others in line: for what another process waits for. Short statements only. */
  readonly urgent: Db;
  /** `db.kysely`. */
  readonly kysely: Kysely<unknown>;
  close(): Promise<void>;
}

/**
 * Opens a pool on `url`, after trying one connection.
 * @throws DatabaseUnavailable, Unusable: the message has the remedy, and no password
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const config = await resolveConnection(options);
  const bounds = options.bounds ?? TRANSACTION_BOUNDS;
  const pool = createPool(config, {
    max: options.max ?? 10,
    answerWithin: bounds.statement === 0 ? 0 : bounds.statement + NETWORK_MARGIN,
  });
  const kyselyOf = (line: PostgresPool): Kysely<unknown> =>
    new Kysely<unknown>({
      dialect: {
        createAdapter: () => new PostgresAdapter(),
        createDriver: () => new BoundedDriver(line, bounds),
        createIntrospector: (db) => new PostgresIntrospector(db),
        createQueryCompiler: () => new PostgresQueryCompiler(),
      },
    });
  const kysely = kyselyOf(pool);
  let closed: Promise<void> | undefined;
  return {
    db: new Db(kysely, options.schema),
    urgent: new Db(kyselyOf(pool.urgent), options.schema),
    kysely,
    // Not by Kysely, which ends only a pool that it has used.
    close: () => (closed ??= pool.end()),
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
