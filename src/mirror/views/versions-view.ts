import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { TableView } from './extend-view.ts';
import { SECOND_COLUMN } from '../../model/second-column.ts';
import { dataTable, DOMAIN_COLUMN, relation, type Table } from '../table.ts';

/** Columns of every table that the view leaves out. */
const HIDDEN = new Set(['_deleted_at', '_hash', '_verbatim', DOMAIN_COLUMN]);

/** Columns that the view adds, for current versions and for those in history. */
const OF_VERSION = new Map<
  string,
  { readonly current: RawBuilder<unknown>; readonly past: RawBuilder<unknown> }
>([
  ['_valid_from', { current: sql`_changed_at as _valid_from`, past: sql`_valid_from` }],
  ['_valid_to', { current: sql`null::timestamptz as _valid_to`, past: sql`_valid_to` }],
  ['_is_current', { current: sql`true as _is_current`, past: sql`false` }],
  ['_op', { current: sql`null::text as _op`, past: sql`_op` }],
]);

interface BothSides {
  readonly name: string;
  readonly type: string;
  readonly in_table: boolean;
  readonly in_history: boolean;
}

/** `<table>_versions`: current and superseded versions together; a column of one table alone is null in the other. */
export async function versionsView(db: Db, table: Table): Promise<TableView> {
  const columns = new Map(
    (await bothSides(db, table))
      .filter(({ name }) => !HIDDEN.has(name) && !OF_VERSION.has(name) && !SECOND_COLUMN.test(name))
      .map((column) => [column.name, column]),
  );
  const select = (
    names: readonly string[],
    side: 'in_table' | 'in_history',
    ofVersion: 'current' | 'past',
  ): RawBuilder<unknown> =>
    sql.join(
      names.map((name) => {
        const added = OF_VERSION.get(name)?.[ofVersion];
        const column = columns.get(name);
        if (added !== undefined || column === undefined) return added ?? sql.id(name);
        return column[side] ? sql.id(name) : sql`null::${sql.raw(column.type)} as ${sql.id(name)}`;
      }),
    );
  return {
    suffix: '_versions',
    columns: [...columns.keys(), ...OF_VERSION.keys()],
    comments: new Map(),
    isOpen: () => false,
    query: (names) => sql`
      select ${select(names, 'in_table', 'current')} from ${dataTable(table)} where _deleted_at is null
      union all
      select ${select(names, 'in_history', 'past')} from ${dataTable(table, '_history')}`,
  };
}

/** Columns of table and history; one that has another type in history counts as missing there. */
async function bothSides(db: Db, table: Table): Promise<BothSides[]> {
  const attributes = (suffix: string): RawBuilder<unknown> => sql`
    select attname, attnum, atttypid, atttypmod, attcollation from pg_attribute
    where attrelid = ${relation(table, suffix)} and attnum > 0 and not attisdropped`;
  const { rows } = await db.sql<BothSides>`
    select coalesce(a.attname, h.attname) as name,
      format_type(coalesce(a.atttypid, h.atttypid), coalesce(a.atttypmod, h.atttypmod)) as type,
      a.attname is not null as in_table,
      h.attname is not null and (a.attname is null
        or (a.atttypid, a.atttypmod, a.attcollation) = (h.atttypid, h.atttypmod, h.attcollation)) as in_history
    from (${attributes('')}) as a full join (${attributes('_history')}) as h on h.attname = a.attname
    order by a.attnum, h.attnum`;
  return rows;
}
