import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import type { ColumnType } from '../rows/column-value.ts';
import { historyColumns } from '../history/archived-columns.ts';
import type { FieldColumn } from '../rows/row-payload.ts';
import { keyColumns, type Table } from '../table.ts';

/** What is known of a collection's fields; `mirror.columns` shows it to readers. */
export interface ColumnRegistry {
  /** Fields that are written into columns, the key's own ones left out. */
  readonly columns: readonly FieldColumn[];
  /** Every registered field. */
  readonly fields: ReadonlySet<string>;
  /** Fields that have no column so far: for want of room, of a lock, or by MIRROR_SCHEMA_DRIFT=raw. */
  readonly waiting: readonly WaitingField[];
  /** `pg_class.relnatts`: it rises with every column that anybody adds. */
  readonly version: number;
  /** Names of all columns of the table, whoever made them, and of those that only its history has. */
  readonly taken: ReadonlySet<string>;
  /** What superseded versions are archived with. */
  readonly archived: readonly string[];
}

export interface WaitingField {
  readonly field: string;
  readonly type: ColumnType;
}

interface RegistryRow {
  readonly field: string;
  readonly column_name: string | null;
  readonly type: ColumnType;
  /** The column is there and has the registered type: it may have been dropped or changed by hand. */
  readonly usable: boolean;
}

export async function readRegistry(db: Db, table: Table): Promise<ColumnRegistry> {
  const relation = sql`to_regclass(format('%I.%I', ${table.schema}::text, ${table.name}::text))`;
  const names = await sql<{ name: string }>`
    select attname as name from pg_attribute
    where attrelid = ${relation} and attnum > 0 and not attisdropped
    union
    select attname from pg_attribute
    where attrelid = to_regclass(format('%I.%I', ${table.schema}::text, ${`${table.name}_history`}::text))
      and attnum > 0 and not attisdropped and attname not in ('_valid_from', '_valid_to', '_op')`.execute(db);
  const registered = await sql<RegistryRow>`
    select r.field, r.column_name, r.type, a.attname is not null as usable
    from ${db.table('_columns')} r
    left join pg_attribute a on a.attrelid = ${relation} and a.attname = r.column_name and not a.attisdropped
      and format_type(a.atttypid, a.atttypmod) = case r.type when 'timestamptz' then 'timestamp with time zone' else r.type end
    where r.collection = ${table.name}`.execute(db);
  const keys = new Set(keyColumns(table));
  return {
    columns: registered.rows.flatMap(({ field, column_name: name, type, usable }) =>
      name !== null && usable && !keys.has(name) ? [{ field, name, type }] : [],
    ),
    fields: new Set(registered.rows.map(({ field }) => field)),
    waiting: registered.rows.flatMap(({ field, column_name: name, type }) =>
      name === null ? [{ field, type }] : [],
    ),
    version: await tableVersion(db, table),
    taken: new Set(names.rows.map(({ name }) => name)),
    archived: await historyColumns(db, table),
  };
}

/** The table's version now. In a transaction that has read the table no column can be added before it ends. */
export async function tableVersion(trx: Db, table: Table): Promise<number> {
  const { rows } = await sql<{ relnatts: number }>`
    select relnatts from pg_class
    where oid = to_regclass(format('%I.%I', ${table.schema}::text, ${table.name}::text))`.execute(trx);
  return rows[0]?.relnatts ?? 0;
}
