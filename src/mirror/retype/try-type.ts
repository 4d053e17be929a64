import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { fieldSources } from '../../model/json/json-text.ts';
import { neededOf } from '../columns/fill-batch.ts';
import type { ColumnType } from '../rows/column-value.ts';
import { shortened } from '../../model/status/shortened.ts';
import { otherValues } from '../rows/row-payload.ts';
import { dataTable, keyColumns, type Table } from '../table.ts';
import type { RetypableColumn } from './retypable-column.ts';
import { lastChangeIds } from './shadow.ts';

/** How the values that there are would fit: nulls and rows without the field aside. */
export interface TriedType {
  /** Rows that are not deleted. */
  readonly rows: FitCount;
  /** Superseded and deleted versions. */
  readonly versions: FitCount;
  /** Of those that would not fit, rows first. */
  readonly examples: readonly UnfitExample[];
}

interface FitCount {
  readonly values: number;
  readonly unfit: number;
}

export interface UnfitExample {
  readonly userId: string;
  /** After `_user_id`, its columns joined by a colon; '' where there are none. */
  readonly key: string;
  /** The beginning of its JSON text. */
  readonly value: string;
}

const EXAMPLES = 5;
const BATCH = 500;
/** Characters of an example's value. */
const SHOWN = 60;

/**
 * Tries every value of the field with the conversion that pages are written with. Writes nothing, locks nothing.
 * @param patient may run statements for minutes, where few rows have the field
 */
export async function tryType(
  patient: Db,
  column: RetypableColumn,
  to: ColumnType,
  { signal, onRows }: { readonly signal: AbortSignal; readonly onRows: (rows: number) => void },
): Promise<TriedType> {
  const examples: UnfitExample[] = [];
  const counts: FitCount[] = [];
  let read = 0;
  for (const suffix of column.inHistory ? ['', '_history'] : ['']) {
    let [values, unfit] = [0, 0];
    for (const userId of (await lastChangeIds(patient)).keys()) {
      let last: string | undefined;
      do {
        signal.throwIfAborted();
        const batch = await nextValues(patient, column, suffix, userId, last);
        last = batch.at(-1)?.id;
        values += batch.length;
        for (const { key, item } of batch) {
          const typed = { field: column.field, name: column.name, type: to };
          const fields = fieldSources(item);
          if (otherValues(fields, column.table.name, [typed]).conflicts.length === 0) continue;
          unfit += 1;
          const value = shortened(fields.get(column.field) ?? '', SHOWN);
          if (examples.length < EXAMPLES) examples.push({ userId, key, value });
        }
        onRows((read += batch.length));
      } while (last !== undefined);
    }
    counts.push({ values, unfit });
  }
  const [rows = NONE, versions = NONE] = counts;
  return { rows, versions, examples };
}

const NONE: FitCount = { values: 0, unfit: 0 };

async function nextValues(
  db: Db,
  { table, field, name, type }: RetypableColumn,
  suffix: string,
  userId: string,
  last: string | undefined,
): Promise<readonly { readonly id: string; readonly key: string; readonly item: string }[]> {
  const { rows } = await db.sql<{ id: string; key: string; item: string }>`
    select t._change_id as id, ${shownKey(table)} as key, ${neededOf({ field, name, type })} as item
    from ${dataTable(table, suffix)} as t
    where t._user_id = ${userId}::bigint and t._change_id > coalesce(${last ?? null}::bigint, ${LEAST}::bigint)
      and coalesce(t._raw -> ${field}::text, 'null') <> 'null' ${suffix === '' ? sql`and t._deleted_at is null` : sql``}
    order by t._change_id limit ${BATCH}`;
  return rows;
}

const LEAST = String(-(2n ** 63n));

function shownKey(table: Table): RawBuilder<unknown> {
  const [, ...names] = keyColumns(table);
  if (names.length === 0) return sql`''`;
  return sql`concat_ws(':', ${sql.join(names.map((name) => sql`t.${sql.id(name)}::text`))})`;
}
