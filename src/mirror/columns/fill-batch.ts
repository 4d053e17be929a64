import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { fieldSources } from '../../model/json/json-text.ts';
import { type FieldColumn, otherValues } from '../rows/row-payload.ts';
import type { Table } from '../table.ts';
import { columnExpression } from '../rows/write-rows.ts';

/** Rows of one batch, so that it stays within the fence's time bounds. */
const BATCH = 500;

/** Where a batch ended. */
export interface BatchEnd {
  /** `_change_id`, decimal digits of a bigint. */
  readonly id: string;
  readonly moment: string | null;
}

/** Rows of the table or of its history whose column is to be filled: conditions on `t`, and the order. */
export interface RowsToFill {
  readonly table: RawBuilder<unknown>;
  readonly left: RawBuilder<unknown>;
  readonly moment: RawBuilder<unknown>;
  readonly order: RawBuilder<unknown>;
  readonly upTo: (place: BatchEnd) => RawBuilder<unknown>;
}

/** A batch that was filled. */
export interface FilledBatch {
  readonly last: BatchEnd;
  readonly rows: number;
  /** Change IDs of those whose value does not fit. */
  readonly unfit: readonly string[];
}

/**
 * Fills a column of the next rows from `_raw`, by what writes a page: no change of a row. What is in the column and
 * has no value in `_raw` is emptied.
 * @returns undefined when there was nothing left
 */
export async function fillBatch(
  trx: Db,
  table: Table,
  userId: string,
  rest: RowsToFill,
  column: FieldColumn,
): Promise<FilledBatch | undefined> {
  const { rows } = await trx.sql<BatchEnd & { item: string; filled: boolean }>`
    select t._change_id as id, ${rest.moment} as moment, ${neededOf(column)} as item,
      t.${sql.id(column.name)} is not null as filled
    from ${rest.table} as t
    where t._user_id = ${userId}::bigint and ${rest.left}
    order by ${rest.order} limit ${BATCH}`;
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  const unfit: string[] = [];
  const values = rows.flatMap(({ id, item, filled }) => {
    const fields = fieldSources(item);
    const value = column.derived === undefined ? fields.get(column.field) : column.derived.value(fields);
    const isEmpty = value === undefined || value === 'null';
    if (isEmpty && !filled) return [];
    const { others, conflicts } = otherValues(fields, table.name, [column]);
    if (conflicts.length > 0) unfit.push(id);
    const only =
      isEmpty || column.derived !== undefined ? '{}' : `{${JSON.stringify(column.field)}:${value}}`;
    return [`{"c":${id},"r":${only}${others === undefined ? '' : `,"o":${others}`}}`];
  });
  if (values.length > 0) {
    await trx.sql`
      update ${rest.table} as t set ${sql.id(column.name)} = ${columnExpression(column)}
      from jsonb_to_recordset(${`[${values.join(',')}]`}::text::jsonb) as x (c bigint, o jsonb, r jsonb)
      where t._user_id = ${userId}::bigint and ${rest.left} and ${rest.upTo(last)} and t._change_id = x.c`;
  }
  return { last, rows: rows.length, unfit };
}

/** Of the item as text: all that the column's value comes from. Items may have megabytes. */
export function neededOf({ field, derived }: FieldColumn): RawBuilder<unknown> {
  return derived === undefined
    ? sql`jsonb_build_object(${field}::text, t._raw -> ${field}::text)::text`
    : sql`t._raw::text`;
}
