import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { fieldSources } from '../../model/json/json-text.ts';
import { type FieldColumn, otherValues } from '../rows/row-payload.ts';
import { keyColumns, type Table } from '../table.ts';
import { columnExpression } from '../rows/write-rows.ts';

/** Rows of one batch, so that it stays within the fence's time bounds. */
export const BATCH = 500;

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
  /** How many in a batch. */
  readonly most: number;
  /** They are only read. */
  readonly dry?: boolean;
}

/** A batch that was filled, or read. */
export interface FilledBatch {
  readonly last: BatchEnd;
  readonly rows: number;
  /** How many have the field, with another value than null. */
  readonly values: number;
  readonly unfit: readonly UnfitValue[];
}

/** A value that does not fit the column. */
export interface UnfitValue {
  /** `_change_id` of its row. */
  readonly id: string;
  /** Columns of the key after `_user_id`, joined by colons. */
  readonly key: string;
  /** JSON text. */
  readonly value: string;
  /** The column had a value in its place. */
  readonly filled: boolean;
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
  // concat_ws leaves nulls out; the account's own row has no further key.
  const further = keyColumns(table).slice(1);
  const key = sql.join([sql`null::text`, ...further.map((name) => sql`t.${sql.id(name)}`)]);
  const { rows } = await trx.sql<BatchEnd & { key: string; item: string; filled: boolean }>`
    select t._change_id as id, ${rest.moment} as moment, concat_ws(':', ${key}) as key, ${neededOf(column)} as item,
      t.${sql.id(column.name)} is not null as filled
    from ${rest.table} as t
    where t._user_id = ${userId}::bigint and ${rest.left}
    order by ${rest.order} limit ${rest.most}`;
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  const unfit: UnfitValue[] = [];
  let values = 0;
  const filling = rows.flatMap(({ id, key, item, filled }) => {
    const fields = fieldSources(item);
    const value = column.derived === undefined ? fields.get(column.field) : column.derived.value(fields);
    const isEmpty = value === undefined || value === 'null';
    if (!isEmpty) values += 1;
    if (isEmpty && !filled) return [];
    const { others, conflicts } = otherValues(fields, table.name, [column]);
    if (conflicts.length > 0) unfit.push({ id, key, value: value ?? '', filled });
    const only =
      isEmpty || column.derived !== undefined ? '{}' : `{${JSON.stringify(column.field)}:${value}}`;
    return [`{"c":${id},"r":${only}${others === undefined ? '' : `,"o":${others}`}}`];
  });
  if (filling.length > 0 && rest.dry !== true) {
    await trx.sql`
      update ${rest.table} as t set ${sql.id(column.name)} = ${columnExpression(column)}
      from jsonb_to_recordset(${`[${filling.join(',')}]`}::text::jsonb) as x (c bigint, o jsonb, r jsonb)
      where t._user_id = ${userId}::bigint and ${rest.left} and ${rest.upTo(last)} and t._change_id = x.c`;
  }
  return { last, rows: rows.length, values, unfit };
}

/** Of the item as text: all that the column's value comes from. Items may have megabytes. */
function neededOf({ field, derived }: FieldColumn): RawBuilder<unknown> {
  return derived === undefined
    ? sql`jsonb_build_object(${field}::text, t._raw -> ${field}::text)::text`
    : sql`t._raw::text`;
}
