import { type RawBuilder, sql } from 'kysely';
import type { Executor } from './executor.ts';
import { keyColumns, named, type Table } from './table.ts';

/** Columns of every table that the view leaves out. */
const HIDDEN = new Set(['_deleted_at', '_hash', '_raw', '_verbatim']);

/**
 * Appends the table's new columns to `<table>_live`, in place: grants, comments and views upon it survive.
 * A view that somebody rebuilt with columns of their own is left as it is.
 */
export async function extendLiveView(trx: Executor, table: Table): Promise<void> {
  const inView = await columnNames(trx, table, '_live');
  const inTable = await columnNames(trx, table, '');
  const derived = derivedColumns(table);
  const tableColumns = new Set(inTable);
  if (inView.some((name) => !derived.has(name) && !tableColumns.has(name))) return;
  const before = inView.length > 0 ? inView : [...derived.keys()];
  const shown = new Set(before);
  const added = inTable.filter((name) => !shown.has(name) && !HIDDEN.has(name));
  const columns = [...before, ...added].map((name) => {
    const expression = derived.get(name);
    return expression === undefined ? sql.id(name) : sql`${expression} as ${sql.id(name)}`;
  });
  await sql`
    create or replace view ${named(table, '_live')} as
    select ${sql.join(columns)} from ${named(table)} where _deleted_at is null`.execute(trx);
}

/** Single-column keys for BI tools: `_key`, and `_list_key` on list items. */
function derivedColumns(table: Table): Map<string, RawBuilder<unknown>> {
  const joined = (names: readonly string[]): RawBuilder<unknown> =>
    names.length === 1
      ? sql`_user_id::text`
      : sql.join(
          names.map((name) => sql.id(name)),
          sql` || ':' || `,
        );
  const keys = keyColumns(table);
  const derived = new Map([['_key', joined(keys)]]);
  if (table.parent !== undefined) derived.set('_list_key', joined(keys.slice(0, -1)));
  return derived;
}

async function columnNames(trx: Executor, table: Table, suffix: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select attname as name from pg_attribute
    where attrelid = to_regclass(format('%I.%I', ${table.schema}::text, ${table.name + suffix}::text))
      and attnum > 0 and not attisdropped
    order by attnum`.execute(trx);
  return rows.map(({ name }) => name);
}
