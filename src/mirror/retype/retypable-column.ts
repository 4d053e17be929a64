import type { Db } from '../../db/connection/db.ts';
import { RetypeRefused } from '../../model/errors.ts';
import { historyColumns } from '../history/archive.ts';
import { COLUMN_TYPES, type ColumnType } from '../rows/column-value.ts';
import { keyColumns, relation, type Table } from '../table.ts';

/** A column that the mirror made for a field, and that can get another type. */
export interface RetypableColumn {
  readonly table: Table;
  readonly field: string;
  readonly name: string;
  /** The one that it has. */
  readonly type: ColumnType;
  /** `pg_attribute.attnum` in the table. */
  readonly number: number;
  /** Whether superseded versions are archived with it. */
  readonly inHistory: boolean;
}

interface Found {
  readonly number: number | null;
  readonly present: string | null;
  readonly field: string | null;
  readonly type: ColumnType | null;
  readonly documented: boolean | null;
}

/** @throws RetypeRefused where it may not get the type */
export async function retypableColumn(
  db: Db,
  table: Table,
  name: string,
  type: string,
): Promise<{ readonly column: RetypableColumn; readonly to: ColumnType }> {
  const what = `${table.name}.${name}`;
  const to = COLUMN_TYPES.find((each) => each === type);
  if (to === undefined) {
    throw new RetypeRefused(`no column is made with the type ${JSON.stringify(type)}`, type, COLUMN_TYPES);
  }
  if (name.startsWith('_')) throw new RetypeRefused(`${what} is the mirror's own: its type stays`);
  if (keyColumns(table).includes(name)) throw new RetypeRefused(`${what} is of the key: its type stays`);
  const { rows } = await db.sql<Found>`
    select a.attnum as number, format_type(a.atttypid, a.atttypmod) as present, r.field, r.type, r.documented
    from (select ${name}::text as name) as x
    left join pg_attribute a on a.attrelid = ${relation(table)} and a.attname = x.name and a.attnum > 0 and not a.attisdropped
    left join ${db.table('_columns')} r on r.collection = ${table.name} and r.column_name = x.name`;
  const { number = null, present = null, field = null, type: from = null, documented = null } = rows[0] ?? {};
  if (documented === true) {
    throw new RetypeRefused(
      `${what} is named in the service's specification, and other things rest on its type: it stays`,
    );
  }
  if (field === null || from === null) {
    if (number !== null) throw new RetypeRefused(`${what} was not made by the mirror: ALTER TABLE is yours`);
    throw new RetypeRefused(`there is no column ${what}`, what, await columnsOf(db, table));
  }
  if (number === null || present !== spelled(from)) {
    throw new RetypeRefused(
      number === null
        ? `${what} was dropped by hand`
        : `${what} was made ${present} by hand, and is not written since: give it back its type ${from} first (ALTER TABLE)`,
    );
  }
  if (from === to) throw new RetypeRefused(`${what} is ${to} already`);
  if (await isDistributed(db, table)) {
    throw new RetypeRefused(
      `${what} is in a table that Citus distributes: there, columns keep their types. Read the field from _raw`,
    );
  }
  const inHistory = (await historyColumns(db, table)).includes(name);
  return { column: { table, field, name, type: from, number, inHistory }, to };
}

/** As `format_type` prints it. */
function spelled(type: ColumnType): string {
  return type === 'timestamptz' ? 'timestamp with time zone' : type;
}

async function columnsOf(db: Db, table: Table): Promise<string[]> {
  const { rows } = await db.sql<{ name: string }>`
    select column_name as name from ${db.table('_columns')}
    where collection = ${table.name} and column_name is not null and not documented order by 1`;
  return rows.map(({ name }) => `${table.name}.${name}`);
}

async function isDistributed(db: Db, table: Table): Promise<boolean> {
  const { rows } = await db.sql`select 1 where to_regclass('pg_dist_partition') is not null`;
  if (rows.length === 0) return false;
  const found = await db.sql`select 1 from pg_dist_partition where logicalrelid = ${relation(table)}`;
  return found.rows.length > 0;
}
