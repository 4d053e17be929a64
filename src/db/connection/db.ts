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
 * The mirror's database, or a transaction in it, with the names of its two schemas: `<schema>` has the data tables and
 * the meta tables that readers see beside them, `<schema>_sync` the state tables of the daemon. Kysely's `sql` tag
 * executes on it as on `kysely`.
 */
export class Db implements QueryExecutorProvider {
  readonly kysely: Kysely<unknown>;
  readonly schema: string;

  constructor(kysely: Kysely<unknown>, schema: string) {
    this.kysely = kysely;
    this.schema = schema;
  }

  getExecutor(): QueryExecutor {
    return this.kysely.getExecutor();
  }

  /** Queries on `<schema>`. */
  get mirror(): Kysely<MirrorTables> {
    return this.kysely.withSchema(this.schema);
  }

  /** Queries on `<schema>_sync`. */
  get state(): Kysely<StateTables> {
    return this.kysely.withSchema(`${this.schema}_sync`);
  }

  /** A table of `<schema>` by its name in SQL, quoted. */
  table(name: string): RawBuilder<unknown> {
    return sql.id(this.schema, name);
  }

  /** A table of `<schema>_sync` by its name in SQL, quoted. */
  stateTable(name: string): RawBuilder<unknown> {
    return sql.id(`${this.schema}_sync`, name);
  }

  /** Executes a statement of Kysely's `sql` tag: its values are bound. */
  sql<Row>(text: TemplateStringsArray, ...values: unknown[]): Promise<QueryResult<Row>> {
    return sql<Row>(text, ...values).execute(this);
  }

  /** Runs `work` in a transaction, with the bounds that the pool sets (database.ts). */
  transaction<T>(work: (trx: Db) => Promise<T>): Promise<T> {
    return this.kysely.transaction().execute((trx) => work(new Db(trx, this.schema)));
  }

  /** Runs `work`, which only reads, on what is committed at its first statement. */
  snapshot<T>(work: (trx: Db) => Promise<T>): Promise<T> {
    return this.kysely
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute((trx) => work(new Db(trx, this.schema)));
  }

  /** Statements as they stand: for several in one round trip, and for what takes no parameters. */
  async raw(text: string): Promise<void> {
    await this.kysely.executeQuery(CompiledQuery.raw(text));
  }
}
