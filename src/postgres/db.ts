import {
  CompiledQuery,
  type Kysely,
  type QueryExecutor,
  type QueryExecutorProvider,
  type QueryResult,
  type RawBuilder,
  sql,
} from 'kysely';
import { sqlState } from './sql-state.ts';
import type { MirrorTables, StateTables } from './tables.ts';

/**
 * What a server says it is. Another cluster has another system identifier; the timeline rises when a standby or a
 * restored backup begins to write. Null: this user may not ask for it.
 */
export type ServerNode = readonly [system: string | null, timeline: string | null];

/** A commit of this process for an account, under any fence. */
export interface KnownCommit {
  /** `account.change_id`. It only rises, so later values are at least this. */
  readonly changeId: bigint;
  /** `account.created_at`, ms: an account that was removed and made again begins anew. */
  readonly createdAt: number;
  /** `max(recoveries.detected_at)` as text: when the database was last noticed to have gone back. */
  readonly recovery: string | null;
}

/** The change IDs of a fenced transaction (change-ids.ts). */
export interface IdClock {
  /** Time by the database's clock, microseconds since 1970. */
  readonly now: bigint;
  /** `installation.change_floor`: the clock may be behind the one of the last IDs. */
  readonly floor: bigint;
  readonly monotonic: () => number;
  /** The account's `change_id`, whose row the transaction has locked, with the IDs taken so far. */
  current: bigint;
  /** Time of the first ID, ms, monotonic; undefined: none is taken. */
  firstTakenAt: number | undefined;
}

/** What this process knows of a database. Its transactions share it. */
interface KnownState {
  /** By `user_id`. They outlive fences: a database that goes away costs an owner its fence, and may come back older. */
  readonly commits: Map<string, KnownCommit>;
  /** The expression for `ServerNode` that this user may use (fingerprint.ts). */
  node: Promise<RawBuilder<ServerNode>> | undefined;
  /** The last sign of life that was written (installation.ts). */
  lastSign: Date | undefined;
}

/**
 * The mirror's database, or a transaction in it, with its two schemas: `<schema>` has the data and meta tables, which
 * readers see, `<schema>_sync` the daemon's state tables.
 */
export class Db implements QueryExecutorProvider {
  readonly kysely: Kysely<unknown>;
  readonly schema: string;
  readonly known: KnownState;
  /** Set in fenced transactions. */
  ids: IdClock | undefined;
  readonly #executor: QueryExecutor | undefined;

  /**
   * @param known of the database whose transaction this is; left out: nothing yet
   * @param executor for `sql`; left out: that of `kysely`
   */
  constructor(kysely: Kysely<unknown>, schema: string, known?: KnownState, executor?: QueryExecutor) {
    this.kysely = kysely;
    this.schema = schema;
    this.known = known ?? { commits: new Map(), node: undefined, lastSign: undefined };
    this.#executor = executor;
  }

  /** `<schema>_sync`. */
  get stateSchema(): string {
    return `${this.schema}_sync`;
  }

  /** So that Kysely's statements can be executed on it. */
  getExecutor(): QueryExecutor {
    return this.#executor ?? this.kysely.getExecutor();
  }

  /** Queries on `<schema>`. */
  get mirror(): Kysely<MirrorTables> {
    return this.kysely.withSchema(this.schema);
  }

  /** Queries on `<schema>_sync`. */
  get state(): Kysely<StateTables> {
    return this.kysely.withSchema(this.stateSchema);
  }

  /** A table of `<schema>` by its name in SQL, quoted. */
  table(name: string): RawBuilder<unknown> {
    return sql.id(this.schema, name);
  }

  /** A table of `<schema>_sync` by its name in SQL, quoted. */
  stateTable(name: string): RawBuilder<unknown> {
    return sql.id(this.stateSchema, name);
  }

  /** Executes a statement of Kysely's `sql` tag: its values are bound. */
  sql<Row>(text: TemplateStringsArray, ...values: unknown[]): Promise<QueryResult<Row>> {
    return sql<Row>(text, ...values).execute(this);
  }

  /**
   * Runs `work` in a transaction, with the bounds that the pool sets (database.ts). Its `sql` statements are sent at
   * once, in the order of the calls, also while earlier ones are unanswered: those that do not need each other's
   * answers cost one round trip together. Where Postgres refuses one, it refuses all behind it. When `work` has ended,
   * well or not, what it left under way can send nothing more: it would be outside of the transaction.
   */
  transaction<T>(work: (trx: Db) => Promise<T>): Promise<T> {
    return this.kysely
      .transaction()
      .execute(async (trx) =>
        work(new Db(trx, this.schema, this.known, await sendingAtOnce(trx.getExecutor()))),
      );
  }

  /** Runs `work` on one snapshot, read-only. */
  snapshot<T>(work: (trx: Db) => Promise<T>): Promise<T> {
    return this.kysely
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute((trx) => work(new Db(trx, this.schema, this.known)));
  }

  /** Runs the text as it is: several statements in one round trip, or one that takes no parameters. */
  async raw(text: string): Promise<void> {
    await this.kysely.executeQuery(CompiledQuery.raw(text));
  }
}

/** Kysely itself sends a transaction's statement when the one before it is answered. */
async function sendingAtOnce(executor: QueryExecutor): Promise<QueryExecutor> {
  const connection = await executor.provideConnection((own) => Promise.resolve(own));
  return executor.withConnectionProvider({ provideConnection: (use) => use(connection) });
}

/** The row of a statement that always gives one. @throws RangeError: it gave none (a defect of ours) */
export function onlyRow<Row>({ rows }: QueryResult<Row>): Row {
  const [row] = rows;
  if (row === undefined) throw new RangeError('a statement that always gives a row gave none');
  return row;
}

/** The time by the database's clock, which all processes share. */
export async function databaseTime(db: Db): Promise<Date> {
  return onlyRow(await db.sql<{ now: Date }>`select clock_timestamp() as now`).now;
}

/**
 * Waits for statements of a transaction that were sent together, and for what follows from each, until all are over:
 * none of it is left under way.
 * @throws the error of the first one that failed by itself, not because another one had
 */
export async function allSent<T extends readonly unknown[]>(
  ...work: T
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const settled = await Promise.allSettled(work);
  const errors = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  // Postgres refuses every statement behind one that failed.
  const first = errors.find((error) => sqlState(error) !== '25P02');
  if (first !== undefined) throw first;
  return Promise.all(work);
}

/**
 * Makes this transaction's commit wait for the disk where synchronous_commit is `off`; every other setting waits
 * anyway. For what the outside learns (an answered event, a claim before it is sent and its outcome, reserved slots),
 * and for a withdrawn suspicion, which a crash would bring back. Pages do without: a crash takes their rows back
 * together with their progress, and an owner that remembers more finds out before it writes again (fenced.ts,
 * scope-store.ts).
 */
export async function commitDurably(trx: Db): Promise<void> {
  await trx.sql`
    select set_config('synchronous_commit', 'on', true)
    where current_setting('synchronous_commit') = 'off'`;
}

/** A name as it stands in SQL that people run. Always in quotes, since it may be one of SQL's words. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * A text as a literal, for statements that take no parameters (COMMENT, PASSWORD) and SQL that people run: everything
 * else is bound. Right whatever standard_conforming_strings is: in E'' a backslash escapes under both.
 */
export function quotedText(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
