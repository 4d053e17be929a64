import type { QueryResult } from 'kysely';
import { Db } from '../../../src/postgres/db.ts';

interface Between {
  /** Happens before each transaction begins. */
  readonly beforeTransaction?: () => Promise<unknown>;
  /** Happens before the first statement in a transaction that begins like this, or after it. */
  readonly once?: { when: 'before' | 'after'; statement: string; happens: () => Promise<unknown> };
}

/** A database where something else happens between two steps of the code under test. */
export class DbWhere extends Db {
  readonly #between: Between;

  constructor({ kysely, schema }: Db, between: Between) {
    super(kysely, schema);
    const { once } = between;
    let happened: Promise<unknown> | undefined;
    const happens = () => (happened ??= once?.happens() ?? Promise.resolve());
    this.#between = once === undefined ? between : { ...between, once: { ...once, happens } };
  }

  override async transaction<T>(work: (trx: Db) => Promise<T>): Promise<T> {
    await this.#between.beforeTransaction?.();
    return super.transaction((trx) => work(this.#between.once === undefined ? trx : new DbWhere(trx, this.#between)));
  }

  override async sql<Row>(text: TemplateStringsArray, ...values: unknown[]): Promise<QueryResult<Row>> {
    const { once } = this.#between;
    const isIt = once !== undefined && text[0]?.startsWith(once.statement) === true;
    if (isIt && once.when === 'before') await once.happens();
    const result = await super.sql<Row>(text, ...values);
    if (isIt && once.when === 'after') await once.happens();
    return result;
  }
}
