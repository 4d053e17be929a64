import { sql } from 'kysely';
import { COLLECTION_NAMES } from '../model/collections.ts';
import { type Db, quotedText } from '../postgres/db.ts';
import { sqlState } from '../postgres/sql-state.ts';
import { MAX_COLUMNS, planColumns, type PlannedColumn, type SchemaDrift } from './columns.ts';
import { type ColumnRegistry, readRegistry } from './columns.ts';
import { extendView, liveView, versionsView } from './table-views.ts';
import { dataTable, type Table, tableOf } from './table.ts';

/** Most pages between two attempts to add columns to a locked table. */
const MAX_PAGES_BETWEEN = 256;

/** A program of 0.2.0, which takes no turns with this one, has just added the column. */
const DUPLICATE_COLUMN = '42701';

/** The columns of one table, as this process knows them. */
export class TableColumns {
  readonly #db: Db;
  readonly #table: Table;
  readonly #drift: SchemaDrift;
  #registry: ColumnRegistry | undefined;
  #stale = false;
  #pagesToTry = 0;
  #pagesBetween = 1;

  constructor(db: Db, table: Table, drift: SchemaDrift) {
    this.#db = db;
    this.#table = table;
    this.#drift = drift;
  }

  /** What is known, for the next page. Adds columns for fields that wait, if the next attempt is due. */
  async forPage(): Promise<ColumnRegistry> {
    if (this.#stale) await refreshDependents(this.#db);
    this.#stale = false;
    this.#registry ??= await readRegistry(this.#db, this.#table);
    if (!this.#mayAdd(this.#registry)) return this.#registry;
    this.#pagesToTry -= 1;
    return this.#pagesToTry > 0 ? this.#registry : this.add(new Map());
  }

  /** Adds columns for fields that wait, even if the next attempt is not due. */
  async addWaiting(): Promise<void> {
    if (this.#registry !== undefined && this.#mayAdd(this.#registry)) await this.add(new Map());
  }

  /** Adds columns for `seen`. While the table is locked, it registers the fields, and they wait. */
  async add(seen: SeenFields): Promise<ColumnRegistry> {
    try {
      await this.#db.transaction((trx) => addColumns(trx, this.#table, seen, this.#drift));
      this.#pagesBetween = 1;
    } catch (error) {
      if (![LOCK_NOT_AVAILABLE, DUPLICATE_COLUMN].includes(sqlState(error) ?? '')) throw error;
      await registerOnly(this.#db, this.#table, seen);
      this.#pagesBetween = Math.min(MAX_PAGES_BETWEEN, this.#pagesBetween * 2);
      this.#pagesToTry = this.#pagesBetween;
    }
    this.#registry = await readRegistry(this.#db, this.#table);
    return this.#registry;
  }

  /** Forgets what is known, which was wrong: the next page reads it again and updates what depends on it. */
  forget(): void {
    this.#stale = true;
    this.#registry = undefined;
  }

  #mayAdd(registry: ColumnRegistry): boolean {
    return this.#drift === 'add' && registry.waiting.length > 0 && registry.taken.size < MAX_COLUMNS;
  }
}

/** Fields without a column, with source texts of their values. */
export type SeenFields = ReadonlyMap<string, readonly string[]>;

/**
 * Adds columns for new fields and for those that wait, in one transaction between two pages: one ALTER of the table and
 * one of its history, the views on them, the comments and the registry. Processes take turns, and each finds what the
 * one before it added. A column that was added by hand keeps its name.
 * @param only among the fields that wait, this one alone
 * @returns the columns; those without a name stay in `_raw`
 * @throws a database error 55P03 while the table is locked: register the fields, go on, and try again later
 */
export async function addColumns(
  trx: Db,
  table: Table,
  seen: SeenFields,
  drift: SchemaDrift,
  only?: string,
): Promise<PlannedColumn[]> {
  await takeTurn(trx);
  const registry = await readRegistry(trx, table);
  const values = new Map([...seen].filter(([field]) => !registry.fields.has(field)));
  const all = drift === 'add' ? registry.waiting : [];
  const waiting = all.filter(({ field }) => only === undefined || field === only);
  const planned = planColumns({ values, waiting, taken: registry.taken, drift });
  const added = planned.flatMap(({ name, ...rest }) => (name === undefined ? [] : [{ name, ...rest }]));
  if (added.length > 0) {
    // The table comes first: a transaction that has read it finds the columns of both unchanged.
    for (const name of [dataTable(table), dataTable(table, '_history')]) {
      await trx.sql`alter table ${name} ${sql.join(
        added.map((each) => sql`add column ${sql.id(each.name)} ${sql.raw(each.type)}`),
      )}`;
      for (const { field, name: column } of added) {
        const comment = quotedText(`Field ${JSON.stringify(field)} of the items.`);
        await trx.sql`comment on column ${name}.${sql.id(column)} is ${sql.raw(comment)}`;
      }
    }
    await extendViews(trx, table);
    await recreateDependents(trx);
    // Read again, now that the table is locked: a process that took no turn may have registered one of these fields
    // since, and written rows without its column.
    const waited = new Set((await readRegistry(trx, table)).waiting.map(({ field }) => field));
    const late = added.map(({ field }) => field).filter((field) => waited.has(field));
    // Rows up to the account's change ID may have these fields in `_raw` alone.
    if (late.length > 0) {
      await trx.sql`
        insert into ${trx.stateTable('backfill')} (_user_id, collection, field, done_through, until)
        select a._user_id, ${table.name}, x.field, 0, a.change_id
        from ${trx.stateTable('account')} as a cross join unnest(${late}::text[]) as x (field)
        on conflict (_user_id, collection, field) do update set done_through = 0, until = excluded.until`;
    }
  }
  await register(trx, table, planned);
  return planned;
}

/** Registers fields without a column, which locks no table. Their columns come later, and are filled then. */
export async function registerOnly(db: Db, table: Table, seen: SeenFields): Promise<void> {
  await register(db, table, planColumns({ values: seen, waiting: [], taken: new Set(), drift: 'raw' }));
}

async function register(db: Db, table: Table, planned: readonly PlannedColumn[]): Promise<void> {
  if (planned.length === 0) return;
  await db.sql`
    insert into ${db.table('_columns')} as c (collection, field, column_name, type, documented, first_seen_at)
    select ${table.name}, x.field, x.name, x.type, false, statement_timestamp()
    from json_to_recordset(${JSON.stringify(planned)}::text::json) as x (field text, name text, type text)
    on conflict (collection, field) do update set column_name = excluded.column_name, type = excluded.type
    where c.column_name is null and excluded.column_name is not null`;
}

/** How long processes that change columns wait for each other. */
const TURN_TIMEOUT = '5s';
/** How long a change may wait for a table or a view: all other sessions wait behind it. */
export const LOCK_TIMEOUT = '300ms';
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Begins a change of columns and of what names them. Processes take turns until their transaction ends, migrating ones
 * included. An advisory lock would not do: any login can take one and keep it. A row lock is waited for twice, for the
 * row and for its owner, which may exceed a statement's time bound.
 */
export async function takeTurn(trx: Db): Promise<void> {
  await trx.sql`select set_config('lock_timeout', ${TURN_TIMEOUT}, true),
    set_config('citus.multi_shard_modify_mode', 'sequential', true)`;
  await trx.sql`lock table ${trx.stateTable('migration')} in share row exclusive mode`;
  await trx.sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`;
}

/**
 * Recreates the functions and views that name columns of several tables, with the present columns. Call in a
 * transaction that took its turn.
 */
export async function recreateDependents(trx: Db): Promise<void> {
  await trx.sql`select ${trx.stateTable('make_companies')}(), ${trx.stateTable('make_as_of')}(), ${trx.stateTable('make_changes')}()`;
  await giveViewColumns(trx);
  await trx.sql`select ${trx.stateTable('bind_readers')}()`;
}

/** `recreateDependents` in case columns were changed by hand. What readers have locked waits for the next call. */
export async function refreshDependents(db: Db): Promise<void> {
  await unlessLocked(db, recreateDependents);
}

/** Extends the views by columns that a restored copy brought. */
export async function extendRestoredViews(trx: Db): Promise<void> {
  for (const name of COLLECTION_NAMES) await extendViews(trx, tableOf(trx.schema, name));
  await recreateDependents(trx);
}

/** Adds a table's new columns to its views. */
async function extendViews(trx: Db, table: Table): Promise<void> {
  await extendView(trx, table, await liveView(trx, table));
  await extendView(trx, table, await versionsView(trx, table));
}

/**
 * Puts the columns of the `_live` views in order while that is open, and adds missing ones: at the start, for mirrors of
 * older versions. A view that is being read for long is left for the next start.
 */
export async function arrangeLiveViews(db: Db): Promise<void> {
  for (const name of COLLECTION_NAMES) {
    const table = tableOf(db.schema, name);
    await unlessLocked(db, async (trx) => {
      await extendView(trx, table, await liveView(trx, table));
      await giveViewColumns(trx);
    });
  }
}

/** Grants a view's readers the columns that it names now: views read with their reader's rights. */
async function giveViewColumns(trx: Db): Promise<void> {
  await trx.sql`select ${trx.stateTable('give_view_columns')}()`;
}

async function unlessLocked(db: Db, change: (trx: Db) => Promise<void>): Promise<void> {
  try {
    await db.transaction(async (trx) => {
      await takeTurn(trx);
      await change(trx);
    });
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
  }
}
