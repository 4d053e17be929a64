import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { fieldSources } from '../../model/json/json-text.ts';
import { type FieldColumn, otherValues } from '../rows/row-payload.ts';
import { dataTable, keyColumns, type Table } from '../table.ts';
import { columnExpression } from '../rows/write-rows.ts';

/** Rows of one batch, so that it stays within the fence's time bounds. */
export const BATCH = 500;

/** The next rows of the table or of its history whose column is to be filled, in the order of their change IDs. */
export interface RowsToFill {
  readonly suffix: '' | '_history';
  /** The batch before ended with this change ID. */
  readonly after: string;
  /** Which of them: a condition on `t`. */
  readonly which: RawBuilder<unknown>;
  /** How many in a batch. */
  readonly most: number;
  /** They are only read. */
  readonly dry?: boolean;
}

/** A batch that was filled, or read. */
export interface FilledBatch {
  /** The last change ID: decimal digits of a bigint. */
  readonly last: string;
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
  const data = dataTable(table, rest.suffix);
  const { rows } = await trx.sql<{ id: string; key: string; item: string; filled: boolean }>`
    select t._change_id as id, concat_ws(':', ${key}) as key, ${neededOf(column)} as item,
      t.${sql.id(column.name)} is not null as filled
    from ${data} as t
    where t._user_id = ${userId}::bigint and t._change_id > ${rest.after}::bigint and ${rest.which}
    order by t._change_id limit ${rest.most}`;
  const last = rows.at(-1)?.id;
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
      update ${data} as t set ${sql.id(column.name)} = ${columnExpression(column)}
      from jsonb_to_recordset(${`[${filling.join(',')}]`}::text::jsonb) as x (c bigint, o jsonb, r jsonb)
      where t._user_id = ${userId}::bigint and t._change_id > ${rest.after}::bigint
        and t._change_id <= ${last}::bigint and t._change_id = x.c`;
  }
  return { last, values, unfit };
}

/** Of the item as text: all that the column's value comes from. Items may have megabytes. */
function neededOf({ field, derived }: FieldColumn): RawBuilder<unknown> {
  return derived === undefined
    ? sql`jsonb_build_object(${field}::text, t._raw -> ${field}::text)::text`
    : sql`t._raw::text`;
}
