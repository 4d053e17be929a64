import { sql } from 'kysely';
import { Unusable } from '@research-mirror/runtime/errors';
import { SECOND_COLUMN } from '../../model/second-column.ts';
import type { Db } from '../connection/db.ts';
import { quotedName, quotedText } from '../connection/quoted.ts';
import type { CopiedTable } from './copied-tables.ts';

export interface CopiedColumn {
  readonly name: string;
  /** As `format_type` writes it. */
  readonly type: string;
  readonly comment: string | null;
  /** The last number that an identity column gave. */
  readonly last: string | null;
}

/** Schema and name, quoted, as SQL and `regclass` read them. */
export function copiedName(db: Db, { schema, name }: CopiedTable): string {
  return `${quotedName(schema === 'mirror' ? db.schema : db.stateSchema)}.${quotedName(name)}`;
}

/**
 * A table's columns in their order, those that were made for fields among them. Without generated columns, which come by
 * themselves, and without second columns, in the making.
 */
export async function copiedColumns(db: Db, table: CopiedTable): Promise<readonly CopiedColumn[]> {
  const name = copiedName(db, table);
  const { rows } = await db.sql<CopiedColumn>`
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
      col_description(a.attrelid, a.attnum) as comment,
      case when a.attidentity <> '' then
        pg_sequence_last_value(pg_get_serial_sequence(${name}, a.attname)::regclass)::text end as last
    from pg_attribute a
    where a.attrelid = ${name}::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      and a.attname <> all(${table.without ?? []}::text[]) and a.attname !~ ${SECOND_COLUMN.source}
    order by a.attnum`;
  return rows;
}

/**
 * Gives the target's table the columns that the migrations do not make, with their types and comments.
 * @throws Unusable for a type that the target lacks
 */
export async function addMissingColumns(
  trx: Db,
  table: CopiedTable,
  columns: readonly CopiedColumn[],
): Promise<void> {
  const target = copiedName(trx, table);
  const there = new Set((await copiedColumns(trx, table)).map(({ name }) => name));
  for (const { name, type, comment } of columns.filter((column) => !there.has(column.name))) {
    await trx.raw(`alter table ${target} add column ${quotedName(name)} ${type}`).catch((error: unknown) => {
      throw new Unusable(`the target can't have your column ${target}.${name}: make its type there first`, {
        cause: error,
      });
    });
    if (comment === null) continue;
    await trx.raw(`comment on column ${target}.${quotedName(name)} is ${quotedText(comment)}`);
  }
}

/** Has the target's identity columns go on where the source's stopped. */
export async function continueIdentities(
  trx: Db,
  table: CopiedTable,
  columns: readonly CopiedColumn[],
): Promise<void> {
  const target = copiedName(trx, table);
  for (const { name, last } of columns.filter((column) => column.last !== null)) {
    await trx.sql`
      select setval(pg_get_serial_sequence(${target}, ${name})::regclass,
        greatest(${last}::bigint, (select max(${sql.id(name)}) from ${sql.raw(target)})))`;
  }
}
