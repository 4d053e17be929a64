import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { dataTable, type Table } from '../table.ts';

/** A view that the daemon keeps up with the columns of its table. */
export interface TableView {
  /** `_live`, `_versions` */
  readonly suffix: string;
  /** Every column that it may have, in the order that a new view has. */
  readonly columns: readonly string[];
  /** Its query, with these columns of it, in this order. */
  readonly query: (names: readonly string[]) => RawBuilder<unknown>;
}

/**
 * Appends new columns to a view, in place: grants, comments, options and views upon it survive. A view that is gone is
 * made anew; one that somebody rebuilt is left as it is.
 */
export async function extendView(trx: Db, table: Table, view: TableView): Promise<void> {
  const name = dataTable(table, view.suffix);
  const present = await presentView(trx, table, view.suffix);
  const before = present?.columns ?? [];
  const added = view.columns.filter((column) => !before.includes(column));
  if (added.length === 0) return;
  if (present !== undefined && !(await isOurs(trx, table, view, present))) return;
  const options = present?.options ? sql`with (${sql.raw(present.options)})` : sql``;
  await sql`create or replace view ${name} ${options} as ${view.query([...before, ...added])}`.execute(trx);
  await describe(trx, table, view, added);
}

/** BI tools show the comments of a view's own columns: those of the table's. */
async function describe(trx: Db, table: Table, view: TableView, added: readonly string[]): Promise<void> {
  const { rows } = await sql<{ column: string; comment: string }>`
    select a.attname as column, col_description(a.attrelid, a.attnum) as comment from pg_attribute as a
    where a.attrelid = to_regclass(format('%I.%I', ${table.schema}::text, ${table.name}::text))
      and a.attname = any(${[...added]}::text[]) and col_description(a.attrelid, a.attnum) is not null`.execute(
    trx,
  );
  for (const { column, comment } of rows) {
    await sql`comment on column ${dataTable(table, view.suffix)}.${sql.id(column)} is ${sql.lit(comment)}`.execute(
      trx,
    );
  }
}

interface PresentView {
  readonly columns: readonly string[];
  readonly definition: string;
  /** This database user may replace it. */
  readonly owned: boolean;
  /** `security_invoker=true`, …; replacing a view drops them. */
  readonly options: string | null;
}

async function presentView(db: Db, table: Table, suffix: string): Promise<PresentView | undefined> {
  const { rows } = await sql<PresentView>`
    select pg_get_viewdef(c.oid) as definition, array_to_string(c.reloptions, ', ') as options,
      pg_has_role(c.relowner, 'usage') as owned,
      array(select a.attname::text from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns
    from pg_class c
    where c.oid = to_regclass(format('%I.%I', ${table.schema}::text, ${table.name + suffix}::text))
      and c.relkind = 'v'`.execute(db);
  return rows[0];
}

/** Whether the view reads as we would write it: told by a view that is written so, looked at, and dropped. */
async function isOurs(
  trx: Db,
  table: Table,
  view: TableView,
  { columns, definition, owned }: PresentView,
): Promise<boolean> {
  if (!owned || !columns.every((column) => view.columns.includes(column))) return false;
  const suffix = `${view.suffix}_as_written`;
  await sql`create view ${dataTable(table, suffix)} as ${view.query(columns)}`.execute(trx);
  const written = await presentView(trx, table, suffix);
  await sql`drop view ${dataTable(table, suffix)}`.execute(trx);
  return written?.definition === definition;
}
