import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import { SHADOW_PATTERN } from '../../model/shadow-column.ts';
import type { DumpedTable } from './dumped-tables.ts';

/** A column as a dump has it. */
export interface DumpedColumn {
  readonly name: string;
  /** As `format_type` writes it. */
  readonly type: string;
  readonly comment: string | null;
}

/** A table as a dump has it: its columns in their order. */
export interface TableShape extends Pick<DumpedTable, 'schema' | 'name'> {
  readonly columns: readonly DumpedColumn[];
  /** Columns that somebody made, of types that another server may not have. */
  readonly leftOut: readonly string[];
  /** Of each identity column the last number that it gave. */
  readonly identities: Readonly<Record<string, string>>;
}

/** Quoted, for SQL text. */
export function dumpedName(db: Db, { schema, name }: Pick<DumpedTable, 'schema' | 'name'>): string {
  return `${quoted(schema === 'mirror' ? db.schema : db.stateSchema)}.${quoted(name)}`;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

interface ColumnRow extends DumpedColumn {
  /** Built into PostgreSQL. */
  readonly portable: boolean;
  readonly identity: boolean;
}

/** Generated columns are left out: they come by themselves where they are made again. So are shadow columns. */
export async function tableShape(db: Db, table: DumpedTable): Promise<TableShape> {
  const { rows } = await db.sql<ColumnRow>`
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
      col_description(a.attrelid, a.attnum) as comment,
      coalesce(e.typnamespace, t.typnamespace) = 'pg_catalog'::regnamespace as portable, a.attidentity <> '' as identity
    from pg_attribute a join pg_type t on t.oid = a.atttypid left join pg_type e on e.oid = t.typelem and t.typcategory = 'A'
    where a.attrelid = ${dumpedName(db, table)}::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      and a.attname <> all(${Object.keys(table.without ?? {})}::text[]) and a.attname !~ ${SHADOW_PATTERN}
    order by a.attnum`;
  const identities: Record<string, string> = {};
  for (const { name } of rows.filter(({ identity }) => identity)) {
    const last = await lastOf(db, table, name);
    if (last !== null) identities[name] = last;
  }
  return {
    schema: table.schema,
    name: table.name,
    columns: rows
      .filter(({ portable }) => portable)
      .map(({ name, type, comment }) => ({ name, type, comment })),
    leftOut: rows.filter(({ portable }) => !portable).map(({ name }) => name),
    identities,
  };
}

/** The last number that the column gave; null: none. */
async function lastOf(db: Db, table: DumpedTable, column: string): Promise<string | null> {
  const { rows } = await db.sql<{ last: string | null }>`
    select pg_sequence_last_value(pg_get_serial_sequence(${dumpedName(db, table)}, ${column})::regclass)::text as last`;
  return rows[0]?.last ?? null;
}

/** Has the restored table's identity columns go on where the dumped one's stopped. */
export async function continueIdentities(
  trx: Db,
  { identities, ...table }: Pick<TableShape, 'schema' | 'name' | 'identities'>,
): Promise<void> {
  for (const [column, last] of Object.entries(identities)) {
    await trx.sql`
      select setval(pg_get_serial_sequence(${dumpedName(trx, table)}, ${column})::regclass,
        greatest(${last}::bigint, (select max(${sql.id(column)}) from ${sql.raw(dumpedName(trx, table))})))`;
  }
}

/** Which of the names the table lacks. */
export async function missingColumns(
  trx: Db,
  table: Pick<DumpedTable, 'schema' | 'name'>,
  names: readonly string[],
): Promise<string[]> {
  const { rows } = await trx.sql<{ name: string }>`
    select x.name from unnest(${[...names]}::text[]) with ordinality as x (name, place)
    where not exists (select from pg_attribute a where a.attrelid = ${dumpedName(trx, table)}::regclass
      and a.attname = x.name and a.attnum > 0 and not a.attisdropped)
    order by x.place`;
  return rows.map(({ name }) => name);
}
