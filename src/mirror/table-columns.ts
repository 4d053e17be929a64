import { type RawBuilder, sql } from 'kysely';
import { COLLECTION_NAMES } from '../model/collections.ts';
import { type Db, quotedText } from '../postgres/db.ts';
import { sqlState } from '../postgres/sql-state.ts';
import { MAX_COLUMNS, planColumns, type PlannedColumn, type SchemaDrift } from './column-plan.ts';
import { type ColumnRegistry, readRegistry } from './column-registry.ts';
import { extendView, liveView, versionsView } from './table-views.ts';
import { dataTable, type Table, tableOf } from './table.ts';

/** Most pages between two tries to add columns to a table that stays locked. */
const MAX_PAGES_BETWEEN = 256;

/** A program of 0.2.0, which takes no turns with this one, has just made it. */
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

  /** What is known, for the next page. Fields that wait for a column get one here when the next try is due. */
  async forPage(): Promise<ColumnRegistry> {
    if (this.#stale) await followColumns(this.#db);
    this.#stale = false;
    this.#registry ??= await readRegistry(this.#db, this.#table);
    if (!this.#mayAdd(this.#registry)) return this.#registry;
    this.#pagesToTry -= 1;
    return this.#pagesToTry > 0 ? this.#registry : this.add(new Map());
  }

  /** Tries to make the columns that fields wait for, whether or not the next try is due. */
  async addWaiting(): Promise<void> {
    if (this.#registry !== undefined && this.#mayAdd(this.#registry)) await this.add(new Map());
  }

  /** Makes columns for `seen`. While others lock the table, it registers the fields, and they wait. */
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

  /** Forgets what is known, because it was wrong: the next page reads it again, and has others know it. */
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
 * Makes columns for new fields and for those that wait for one, in one transaction between two pages: one ALTER of
 * the table and one of its history, the views upon them, the comments and the registry. Processes take turns, and
 * each finds what the one before it made. A column that somebody made by hand keeps its name.
 * @param only of those that wait, this field alone
 * @returns them; those without a name stay in `_raw`
 * @throws a database error 55P03 when the table stays locked: register the fields, go on, and try again later
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
  const unknown = new Map([...seen].filter(([field]) => !registry.fields.has(field)));
  const all = drift === 'add' ? registry.waiting : [];
  const waiting = all.filter(({ field }) => only === undefined || field === only);
  const planned = planColumns({ values: unknown, waiting, taken: registry.taken, drift });
  const added = planned.filter(hasName);
  if (added.length > 0) {
    // The table comes first: a transaction that has read it finds the columns of both unchanged.
    for (const suffix of ['', '_history']) await alter(trx, dataTable(table, suffix), added);
    await extendViews(trx, table);
    await remakeFollowers(trx);
    // Read again, now that the table is locked: a process that had no turn may have registered one of these fields
    // since, and may have written rows without its column.
    const waited = new Set((await readRegistry(trx, table)).waiting.map(({ field }) => field));
    const late = added.map(({ field }) => field).filter((field) => waited.has(field));
    await requestBackfill(trx, table, late);
  }
  await register(trx, table, planned);
  return planned;
}

type NamedColumn = PlannedColumn & { readonly name: string };

async function alter(trx: Db, table: RawBuilder<unknown>, added: readonly NamedColumn[]): Promise<void> {
  await trx.sql`alter table ${table} ${sql.join(
    added.map(({ name, type }) => sql`add column ${sql.id(name)} ${sql.raw(type)}`),
  )}`;
  for (const { field, name } of added) {
    const comment = `Field ${JSON.stringify(field)} of the items.`;
    await trx.sql`comment on column ${table}.${sql.id(name)} is ${sql.raw(quotedText(comment))}`;
  }
}

/** Registers fields without a column, which locks no table. Their columns come later, and are filled then. */
export async function registerOnly(db: Db, table: Table, seen: SeenFields): Promise<void> {
  await register(db, table, planColumns({ values: seen, waiting: [], taken: new Set(), drift: 'raw' }));
}

function hasName(column: PlannedColumn): column is NamedColumn {
  return column.name !== undefined;
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

/** Has the columns filled from `_raw`, which alone may have these fields in rows up to the account's change ID. */
async function requestBackfill(trx: Db, table: Table, fields: readonly string[]): Promise<void> {
  if (fields.length === 0) return;
  await trx.sql`
    insert into ${trx.stateTable('backfill')} (_user_id, collection, field, done_through, until)
    select a._user_id, ${table.name}, x.field, 0, a.change_id
    from ${trx.stateTable('account')} as a cross join unnest(${[...fields]}::text[]) as x (field)
    on conflict (_user_id, collection, field) do update set done_through = 0, until = excluded.until`;
}

/** How long processes that change columns wait for each other. */
const TURN_TIMEOUT = '5s';
/** How long a change may wait for a table or a view: everybody else waits behind it. */
export const LOCK_TIMEOUT = '300ms';
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Begins a change of columns, and of what names them: processes take turns until their transaction ends, with those
 * that migrate, too. Any login could take an advisory lock, and keep it; and to wait for a row is to wait twice, for
 * the row and for its owner, longer than a statement may take.
 */
export async function takeTurn(trx: Db): Promise<void> {
  await trx.sql`select set_config('lock_timeout', ${TURN_TIMEOUT}, true),
    set_config('citus.multi_shard_modify_mode', 'sequential', true)`;
  await trx.sql`lock table ${trx.stateTable('migration')} in share row exclusive mode`;
  await trx.sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`;
}

/**
 * Has all that names columns of several tables name those that are there, in words for tables that are distributed or
 * not. In a transaction that took its turn.
 */
export async function remakeFollowers(trx: Db): Promise<void> {
  await trx.sql`select ${trx.stateTable('make_companies')}(), ${trx.stateTable('make_as_of')}(), ${trx.stateTable('make_changes')}()`;
  await giveViewColumns(trx);
  await trx.sql`select ${trx.stateTable('bind_readers')}()`;
}

/**
 * The same where somebody may have made or dropped columns by hand. What its readers lock stays as it is until the next
 * time.
 */
export async function followColumns(db: Db): Promise<void> {
  await unlessLocked(db, remakeFollowers);
}

/** Has the views of every table show the columns that it was given by other ways than `addColumns`. */
export async function followRestoredColumns(trx: Db): Promise<void> {
  for (const name of COLLECTION_NAMES) await extendViews(trx, tableOf(trx.schema, name));
  await remakeFollowers(trx);
}

/** Brings a table's new columns into the views upon it. */
async function extendViews(trx: Db, table: Table): Promise<void> {
  await extendView(trx, table, await liveView(trx, table));
  await extendView(trx, table, await versionsView(trx, table));
}

/**
 * Puts the columns of the `_live` views in order where that is open, and brings in what they lack: for mirrors of older
 * versions, at the start. A view that somebody reads for long is left for the next start.
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

/** Gives who may read a view and not its tables the columns that it names now: it reads with its reader's rights. */
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
