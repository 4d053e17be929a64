import {
  CompiledQuery,
  type Kysely,
  type QueryExecutor,
  type QueryExecutorProvider,
  type QueryResult,
  type RawBuilder,
  sql,
} from 'kysely';
import type { MirrorTables } from './mirror-tables.ts';
import type { StateTables } from './state-tables.ts';

/**
 * The mirror's database, or a transaction in it, with its two schemas: `<schema>` has the data and meta tables, which
 * readers see, `<schema>_sync` the daemon's state tables.
 */
export class Db implements QueryExecutorProvider {
  readonly kysely: Kysely<unknown>;
  readonly schema: string;

  constructor(kysely: Kysely<unknown>, schema: string) {
    this.kysely = kysely;
    this.schema = schema;
  }

  /** `<schema>_sync`. */
  get stateSchema(): string {
    return `${this.schema}_sync`;
  }

  /** So that Kysely's statements can be executed on it. */
  getExecutor(): QueryExecutor {
    return this.kysely.getExecutor();
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

  /** Runs `work` in a transaction, with the bounds that the pool sets (database.ts). */
  transaction<T>(work: (trx: Db) => Promise<T>): Promise<T> {
    return this.kysely.transaction().execute((trx) => work(new Db(trx, this.schema)));
  }

  /** Runs `work` on one snapshot, read-only. */
  snapshot<T>(work: (trx: Db) => Promise<T>): Promise<T> {
    return this.kysely
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute((trx) => work(new Db(trx, this.schema)));
  }

  /** Runs the text as it is: several statements in one round trip, or one that takes no parameters. */
  async raw(text: string): Promise<void> {
    await this.kysely.executeQuery(CompiledQuery.raw(text));
  }
}

/** The row of a statement that always gives one. @throws RangeError: it gave none (a defect of ours) */
export function onlyRow<Row>({ rows }: QueryResult<Row>): Row {
  const [row] = rows;
  if (row === undefined) throw new RangeError('a statement that always gives a row gave none');
  return row;
}
