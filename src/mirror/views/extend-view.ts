import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { quotedText } from '../../db/connection/quoted.ts';
import { makeAnew } from './make-anew.ts';
import { dataTable, relation, type Table } from '../table.ts';

/** A view that gets each new column of its table. */
export interface TableView {
  /** `_live` or `_versions`. */
  readonly suffix: string;
  /** Every column that it may have, in the order of a new view. */
  readonly columns: readonly string[];
  /** Of columns that the table has not. */
  readonly comments: ReadonlyMap<string, string>;
  /** Whether a view with these columns, in this order, may still get another order. */
  readonly isOpen: (present: readonly string[]) => boolean;
  /** Its query for these columns, in this order. */
  readonly query: (names: readonly string[]) => RawBuilder<unknown>;
}

/**
 * Brings a view's new columns in. While the order is open and nothing depends on the view, it is made anew in the best
 * order; else they are appended in place. Grants, comments and options survive both, views upon it the second. A
 * missing view is created again; one that somebody rebuilt stays as it is.
 */
export async function extendView(trx: Db, table: Table, view: TableView): Promise<void> {
  const present = await presentView(trx, table, view.suffix);
  const before = present?.columns ?? [];
  const added = view.columns.filter((column) => !before.includes(column));
  const isInOrder = added.length === 0 && before.every((column, index) => column === view.columns[index]);
  const mayMakeAnew = present !== undefined && !isInOrder && view.isOpen(before);
  if (added.length === 0 && !mayMakeAnew) return;
  if (present !== undefined && !(await isOurs(trx, table, view, present))) return;
  const create = (columns: readonly string[]): Promise<void> =>
    createView(trx, table, view, {
      columns,
      options: present === undefined ? 'security_invoker=true' : present.options,
    });
  const isAnew = mayMakeAnew && (await makeAnew(trx, table, view.suffix, () => create(view.columns)));
  if (added.length === 0) return;
  if (!isAnew) await create([...before, ...added]);
  await describe(trx, table, view, added);
}

/** A view as it stands. */
interface StandingView {
  /** In its order. */
  readonly columns: readonly string[];
  /** `security_invoker=true`, …; replacing a view drops them. */
  readonly options: string | null;
}

/** Makes the view with these columns, in this order. */
async function createView(
  trx: Db,
  table: Table,
  view: TableView,
  { columns, options }: StandingView,
): Promise<void> {
  const given = options === null || options === '' ? sql`` : sql`with (${sql.raw(options)})`;
  await trx.sql`create or replace view ${dataTable(table, view.suffix)} ${given} as ${view.query(columns)}`;
}

/** Copies the comments of the table's columns: BI tools show those of the view's. */
async function describe(trx: Db, table: Table, view: TableView, added: readonly string[]): Promise<void> {
  const { rows } = await trx.sql<{ column: string; comment: string }>`
    select a.attname as column, col_description(a.attrelid, a.attnum) as comment from pg_attribute as a
    where a.attrelid = ${relation(table)}
      and a.attname = any(${[...added]}::text[]) and col_description(a.attrelid, a.attnum) is not null`;
  const own = added.flatMap((column) => {
    const comment = view.comments.get(column);
    return comment === undefined ? [] : [{ column, comment }];
  });
  for (const { column, comment } of [...rows, ...own]) {
    await trx.sql`comment on column ${dataTable(table, view.suffix)}.${sql.id(column)} is ${sql.raw(quotedText(comment))}`;
  }
}

interface PresentView extends StandingView {
  readonly definition: string;
  /** This database user may replace it. */
  readonly owned: boolean;
}

async function presentView(db: Db, table: Table, suffix: string): Promise<PresentView | undefined> {
  const { rows } = await db.sql<PresentView>`
    select pg_get_viewdef(c.oid) as definition, array_to_string(c.reloptions, ', ') as options,
      pg_has_role(c.relowner, 'usage') as owned,
      array(select a.attname::text from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns
    from pg_class c
    where c.oid = ${relation(table, suffix)} and c.relkind = 'v'`;
  return rows[0];
}

/** Whether the view reads as we would write it: a view that is written so, read back and dropped, reads the same. */
async function isOurs(
  trx: Db,
  table: Table,
  view: TableView,
  { columns, definition, owned }: PresentView,
): Promise<boolean> {
  if (!owned || !columns.every((column) => view.columns.includes(column))) return false;
  const suffix = `${view.suffix}_as_written`;
  await trx.sql`create view ${dataTable(table, suffix)} as ${view.query(columns)}`;
  const written = await presentView(trx, table, suffix);
  await trx.sql`drop view ${dataTable(table, suffix)}`;
  return written?.definition === definition;
}
