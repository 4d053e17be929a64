import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../db/connection/db.ts';
import { sqlState } from '../../db/connection/sql-state.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import { dataTable, type Table } from '../table.ts';
import type { OptionalIndex } from './optional-index.ts';
import { readIndexes } from './stored-indexes.ts';

/** What making indexes needs. */
export interface BuilderContext {
  /** One connection, without bounds of time: making an index of millions of rows takes minutes. */
  readonly db: Db;
  /** Another one, by which a statement of the first is broken off. */
  readonly canceller: Db;
  /** `db` goes to the server itself: what is set in its session stays in it. */
  readonly unpooled: boolean;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Breaks off what runs; an index that is not finished stays behind, and is made anew later. */
  readonly signal: AbortSignal;
}

/** How long to wait while something else works on the table's indexes (or vacuums it), before it is said. */
const TURN_TIMEOUT = '3s';
/** Between two attempts (ms) to break off a statement: it may not have reached the server yet. */
const CANCEL_EVERY = 100;
/** Each attempt is lost only to somebody who makes the same index at the same moment. */
const MAX_ATTEMPTS = 3;

const LOCK_NOT_AVAILABLE = '55P03';
const DUPLICATE_TABLE = '42P07';

/** What came of an attempt: `busy`: something else makes an index of the table at this moment, or vacuums it. */
export type BuildOutcome = 'made' | 'there' | 'busy';

/**
 * Makes the index where there is none; one that was broken off is made anew. Neither readers nor writers of the table
 * wait for it, and it waits for every transaction that was open when it began: so it has no bound of its own. (With a
 * lock_timeout one long query of an analyst would break off each attempt.) New columns of the table wait meanwhile.
 * @throws Unusable: a time-out of this login would break it off; a database error; the signal's reason
 */
export async function buildIndex(context: BuilderContext, index: OptionalIndex): Promise<BuildOutcome> {
  await unbound(context);
  const { db } = context;
  for (let attempt = 1; ; attempt += 1) {
    const stored = (await readIndexes(db, index.table)).find(({ name }) => name === index.name);
    if (stored?.valid === true) return 'there';
    if (!(await hasTurn(db, index.table))) return 'busy';
    if (stored !== undefined) await dropIndex(context, index);
    try {
      await abortable(
        context,
        sql`create index concurrently ${sql.id(index.name)} on ${dataTable(index.table)} ((${index.expression}))`,
      );
      return 'made';
    } catch (error) {
      if (sqlState(error) === DUPLICATE_TABLE && attempt < MAX_ATTEMPTS) continue;
      // What is left of it costs each write; after a stop the daemon or the next command clears it away.
      if (!context.signal.aborted) await dropIndex(context, index).catch(() => {});
      throw error;
    }
  }
}

/** Removes the index, if there is one; readers and writers go on. @throws as `buildIndex` does */
export async function dropIndex(context: BuilderContext, { table, name }: OptionalIndex): Promise<void> {
  await unbound(context);
  await abortable(context, sql`drop index concurrently if exists ${sql.id(table.schema, name)}`);
}

/**
 * Takes the bounds of time off the session: they may be the login's or the database's, and these statements run in no
 * transaction that could have others.
 */
async function unbound({ db, unpooled }: BuilderContext): Promise<void> {
  const { rows } = await db.sql<{ name: string; value: string }>`
    select name, current_setting(name) as value
    from unnest(array['statement_timeout', 'lock_timeout']) as name where current_setting(name) <> '0'`;
  const [bound] = rows;
  if (bound === undefined) return;
  if (!unpooled) {
    throw new Unusable(
      `this login has ${bound.name} = ${bound.value}, which would break off the making of an index, and DATABASE_URL ` +
        'may lead to a pooler, where it can’t be lifted: set DATABASE_URL_DIRECT (the same address where there is no pooler)',
    );
  }
  await db.raw('set statement_timeout = 0');
  await db.raw('set lock_timeout = 0');
}

/** Whether nobody else makes an index of the table now: making one has this lock until its end. */
async function hasTurn(db: Db, table: Table): Promise<boolean> {
  try {
    await db.transaction(async (trx) => {
      await trx.sql`select set_config('lock_timeout', ${TURN_TIMEOUT}, true)`;
      await trx.sql`lock table ${dataTable(table)} in share update exclusive mode`;
    });
    return true;
  } catch (error) {
    if (sqlState(error) === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
}

/** Runs a statement outside of a transaction, and breaks it off at the server when the signal aborts. */
async function abortable(
  { db, canceller, clock, signal }: BuilderContext,
  statement: RawBuilder<unknown>,
): Promise<void> {
  signal.throwIfAborted();
  const text = statement.compile(db.kysely).sql;
  const over = new AbortController();
  const breakOff = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await canceller.sql`
        select pg_cancel_backend(pid) from pg_stat_activity
        where query = ${text} and state = 'active' and datname = current_database() and usename = current_user`;
      await clock.sleep(CANCEL_EVERY, over.signal).catch(() => {});
    }
  };
  let breaking: Promise<void> | undefined;
  const onAbort = (): void => {
    breaking = breakOff().catch(() => {});
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await statement.execute(db);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    over.abort();
    signal.removeEventListener('abort', onAbort);
    await breaking;
  }
}
