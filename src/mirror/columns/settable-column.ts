import type { Db } from '../../db/connection/db.ts';
import { hasCitus } from '../../db/distribution/tables-of-accounts.ts';
import { TypeRefused } from '../../model/errors.ts';
import { COLUMN_TYPES, type ColumnType } from '../rows/column-value.ts';
import type { FieldColumn } from '../rows/row-payload.ts';
import { relation, type Table } from '../table.ts';

/** A column that the mirror made for a field, with the type that it is to get. */
export interface TypeChange extends FieldColumn {
  readonly table: Table;
  readonly from: ColumnType;
  /** `pg_attribute.attnum` in the table. */
  readonly number: number;
}

interface Found extends Pick<TypeChange, 'field' | 'from' | 'number'> {
  readonly documented: boolean;
  /** Table and history have it with the registered type. */
  readonly usable: boolean;
}

/** @throws TypeRefused where the column may not get the type */
export async function typeChange(db: Db, table: Table, name: string, to: string): Promise<TypeChange> {
  const refused = (why: string): TypeRefused => new TypeRefused(`${table.name}.${name} ${why}`);
  const type = COLUMN_TYPES.find((each) => each === to);
  if (type === undefined)
    throw refused(`can't be ${JSON.stringify(to)}: types are ${COLUMN_TYPES.join(', ')}`);
  const { rows } = await db.sql<Found>`
    select r.field, r.type as from, a.attnum as number, r.documented,
      (select count(*) from pg_attribute u
        where u.attrelid in (${relation(table)}, ${relation(table, '_history')}) and u.attname = r.column_name
          and not u.attisdropped and u.atttypid = to_regtype(r.type) and u.atttypmod = -1) = 2 as usable
    from ${db.table('_columns')} as r
    left join pg_attribute as a on a.attrelid = ${relation(table)} and a.attname = r.column_name
    where r.collection = ${table.name} and r.column_name = ${name}`;
  const [found] = rows;
  if (found === undefined) {
    throw refused('is no column that the mirror made for a field: "research-mirror columns" lists those');
  }
  const { documented, usable, ...column } = found;
  if (documented) throw refused('is of the key, or named in the service’s specification: its type stays');
  if (!usable) throw refused(`was changed by hand: make it ${column.from} again first (ALTER TABLE)`);
  if (column.from === type) throw refused(`is ${to} already`);
  if (await isDistributed(db, table)) {
    throw refused('is in a table that Citus distributes: there, types stay. Read the field from _raw');
  }
  return { table, name, type, ...column };
}

async function isDistributed(db: Db, table: Table): Promise<boolean> {
  if (!(await hasCitus(db))) return false;
  return (
    (await db.sql`select from pg_dist_partition where logicalrelid = ${relation(table)}`).rows.length > 0
  );
}
