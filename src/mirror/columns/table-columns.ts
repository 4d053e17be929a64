import type { Db } from '../../db/connection/db.ts';
import { sqlState } from '../../db/connection/sql-state.ts';
import {
  LOCK_NOT_AVAILABLE,
  followColumns,
  extendViews,
  remakeFollowers,
  takeTurn,
} from './follow-columns.ts';
import { type ColumnRegistry, readRegistry } from './column-registry.ts';
import { MAX_COLUMNS, planColumns, type PlannedColumn, type SchemaDrift } from './column-plan.ts';
import { type Table, dataTable } from '../table.ts';
import { type RawBuilder, sql } from 'kysely';
import { quotedText } from '../../db/connection/quoted.ts';

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
