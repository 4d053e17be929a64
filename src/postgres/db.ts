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

/** Identity of a server. A standby or restored backup that begins to write raises the timeline. Null: not permitted. */
export type ServerNode = readonly [system: string | null, timeline: string | null];

/** An account's last commit by this process, under any fence. */
export interface KnownCommit {
  /** `account.change_id`. It only rises. */
  readonly changeId: bigint;
  /** `account.created_at`, ms: the IDs of an account that was removed and made again start over. */
  readonly createdAt: number;
  /** `max(recoveries.detected_at)` as text: when the database was last found to have gone back. */
  readonly recovery: string | null;
}

/** The mirror's database, or a transaction in it: the schemas `<schema>` (data, meta) and `<schema>_sync` (state). */
export class Db implements QueryExecutorProvider {
  readonly kysely: Kysely<unknown>;
  readonly schema: string;
  /** What this process knows of the database. Transactions share it. */
  readonly known: {
    /** By `user_id`. They outlive fences: an outage ends a fence, and the database may come back older. */
    readonly commits: Map<string, KnownCommit>;
    /** The expression for `ServerNode` that this user may use (fingerprint.ts). */
    node: Promise<RawBuilder<ServerNode>> | undefined;
    /** The last sign of life that this process wrote (installation.ts). */
    lastSign: Date | undefined;
    /** What was read last of tables' columns, by table: equal ones are kept once for all accounts (mirror/columns.ts). */
    readonly registries: Map<string, { readonly text: string; readonly registry: unknown }>;
  };
  /** The change IDs of a fenced transaction (fenced.ts). */
  ids:
    | {
        /** Time by the database's clock, microseconds since 1970. */
        readonly now: bigint;
        /** `installation.change_floor`: the clock may be behind the one of the last IDs. */
        readonly floor: bigint;
        readonly monotonic: () => number;
        /** The account's `change_id` with the IDs taken so far. */
        current: bigint;
        /** Monotonic time of the first ID, ms; undefined: none is taken. */
        firstTakenAt: number | undefined;
      }
    | undefined;
  readonly #executor: QueryExecutor | undefined;

  /** A transaction is given what its database has as `known`, and an executor for `sql`. */
  constructor(kysely: Kysely<unknown>, schema: string, known?: Db['known'], executor?: QueryExecutor) {
    this.kysely = kysely;
    this.schema = schema;
    this.known = known ?? { commits: new Map(), node: undefined, lastSign: undefined, registries: new Map() };
    this.#executor = executor;
  }

  /** `<schema>_sync`. */
  get stateSchema(): string {
    return `${this.schema}_sync`;
  }

  /** Lets Kysely execute its statements here. */
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
   * Runs `work` in a transaction with the pool's bounds (database.ts). Its `sql` statements are sent at once, in the
   * order of the calls: those that do not need each other's answers cost one round trip together. After a refused one
   * Postgres refuses all later ones. Once `work` has ended, its unfinished calls can send nothing more.
   */
  transaction<T>(work: (trx: Db) => Promise<T>): Promise<T> {
    return this.kysely
      .transaction()
      .execute(async (trx) => work(new Db(trx, this.schema, this.known, await sendingAtOnce(trx.getExecutor()))));
  }

  /** Runs `work` on one snapshot, read-only. */
  snapshot<T>(work: (trx: Db) => Promise<T>): Promise<T> {
    return this.kysely
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute((trx) => work(new Db(trx, this.schema, this.known)));
  }

  /** Runs the text as it is: several statements in one round trip, or a statement that takes no parameters. */
  async raw(text: string): Promise<void> {
    await this.kysely.executeQuery(CompiledQuery.raw(text));
  }
}

/** An executor that does not wait, as Kysely's own does, for the answer to the statement before. */
async function sendingAtOnce(executor: QueryExecutor): Promise<QueryExecutor> {
  const connection = await executor.provideConnection((own) => Promise.resolve(own));
  return executor.withConnectionProvider({ provideConnection: (use) => use(connection) });
}

/** The row of a statement that always gives one. @throws RangeError: a defect of ours */
export function onlyRow<Row>({ rows }: QueryResult<Row>): Row {
  const [row] = rows;
  if (row === undefined) throw new RangeError('a statement that always returns a row returned none');
  return row;
}

/** The time by the database's clock, which all processes share. */
export async function databaseTime(db: Db): Promise<Date> {
  return onlyRow(await db.sql<{ now: Date }>`select clock_timestamp() as now`).now;
}

/** Waits until all `work` has ended, also if some fails. @throws the error that made Postgres refuse the others */
export async function allSent<T extends readonly unknown[]>(
  ...work: T
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const settled = await Promise.allSettled(work);
  const errors = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  // 25P02: refused because a statement before it failed.
  const first = errors.find((error) => sqlState(error) !== '25P02');
  if (first !== undefined) throw first;
  return Promise.all(work);
}

/**
 * Makes this transaction's commit wait for the disk even if synchronous_commit is `off`: for what others learn
 * (answered events, claims and their outcomes, reserved slots) and for cleared suspicions. Pages do without: a crash
 * loses their rows and progress together, and an owner that remembers more notices before it writes (fenced.ts,
 * scope-store.ts).
 */
export async function commitDurably(trx: Db): Promise<void> {
  await trx.sql`
    select set_config('synchronous_commit', 'on', true)
    where current_setting('synchronous_commit') = 'off'`;
}

/** A name for SQL that people run, always quoted: it may be a keyword. */
export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A literal for SQL that people run, COMMENT and PASSWORD; all else is bound. In E'' a backslash always escapes. */
export function quotedText(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
