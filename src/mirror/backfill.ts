import type { Db } from '../postgres/db.ts';
import { sql, type RawBuilder } from 'kysely';
import { type Fence, fenced } from '../postgres/fenced.ts';
import type { CollectionName } from '../model/collections.ts';
import { type FieldColumn, readRegistry } from './columns.ts';
import { countConflicts } from './counters.ts';
import { tableOf, dataTable, keyColumns, type Table } from './table.ts';
import { fieldSources } from '../model/json-text.ts';
import { columnExpression, otherValues } from './write-rows.ts';

/**
 * Fills one batch of the account's first late column: first rows, in the order of change IDs, then versions in history.
 * A crash costs one batch, rows that changed since then drop out (they were written with the column), and rows deleted
 * since come last. Versions that are archived meanwhile come from filled rows.
 * @returns true while there is more to fill
 */
export async function backfill(db: Db, fence: Fence): Promise<boolean> {
  const { userId } = fence;
  // `doneThrough`: change ID of the last filled row or version. Older programs filled versions by the time of their end
  // and stored that as progress: history is filled again.
  const { rows: tasks } = await db.sql<
    Record<'field' | 'doneThrough' | 'until', string> & { collection: CollectionName; inHistory: boolean }
  >`
    select collection, field, case when history_through > '-infinity' then 0 else done_through end as "doneThrough",
      until, history_through is not null as "inHistory"
    from ${db.stateTable('backfill')}
    where _user_id = ${userId}::bigint order by collection, field limit 1`;
  const [task] = tasks;
  if (task === undefined) return false;
  const { collection, field, doneThrough, until, inHistory } = task;
  const table = tableOf(db.schema, collection);
  // Reread: the registry that this process knows may be older than the task.
  const registry = await readRegistry(db, table);
  const column = registry.columns.find((each) => each.field === field);
  const isArchived = column !== undefined && registry.archived.includes(column.name);
  await fenced(db, fence, async (trx, now) => {
    // A deletion gives its row a later change ID without a value, so the ID does not show if the column was filled.
    const which =
      inHistory || column === undefined
        ? sql`true`
        : sql`(t._change_id <= ${until}::bigint or t._deleted_at is not null and t.${sql.id(column.name)} is null)`;
    const rest = { suffix: inHistory ? '_history' : '', after: doneThrough, which, most: BATCH } as const;
    const filled = column && (await fillBatch(trx, table, userId, rest, column));
    // Later rows were counted when they were written.
    const conflicts = filled?.unfit.filter(({ id }) => inHistory || BigInt(id) <= BigInt(until)).length ?? 0;
    if (conflicts > 0) {
      await countConflicts(trx, { userId, collection, parent: '' }, new Map([[field, conflicts]]), now);
    }
    const goesOn = filled !== undefined || (!inHistory && isArchived);
    const ofTask = sql`collection = ${collection} and field = ${field}`;
    const through = inHistory || filled === undefined ? sql`'-infinity'::timestamptz` : sql`null`;
    await (goesOn
      ? trx.sql`update ${trx.stateTable('backfill')}
          set done_through = ${filled?.last ?? '0'}::bigint, history_through = ${through}
          where _user_id = ${userId}::bigint and ${ofTask}`
      : trx.sql`delete from ${trx.stateTable('backfill')} where _user_id = ${userId}::bigint and ${ofTask}`);
  });
  return true;
}

/** Rows of one batch, which has to stay within the fence's time bounds. */
export const BATCH = 500;

export type FilledBatch = Awaited<ReturnType<typeof fillBatch>>;

/**
 * Fills a column of the next rows (in the order of change IDs) from `_raw`, with the expressions that write a page. It
 * is no change of a row. Values in the column without one in `_raw` are emptied.
 * @param rest.after last change ID of the batch before
 * @param rest.which condition on `t`
 * @param rest.dry reads the rows without filling them
 * @returns undefined if there was nothing left; else the last change ID, the number of values other than null, and the
 *   values that do not fit: `_change_id` of the row, its key after `_user_id` joined by colons, the value as JSON text,
 *   and whether the column had a value before
 */
export async function fillBatch(
  trx: Db,
  table: Table,
  userId: string,
  rest: Readonly<{
    suffix: '' | '_history';
    after: string;
    which: RawBuilder<unknown>;
    most: number;
    dry?: boolean;
  }>,
  column: FieldColumn,
) {
  // concat_ws skips nulls; the account's own row has no further key.
  const further = keyColumns(table).slice(1);
  const key = sql.join([sql`null::text`, ...further.map((name) => sql`t.${sql.id(name)}`)]);
  const data = dataTable(table, rest.suffix);
  // Items may have megabytes: only what the value comes from is read.
  const needed =
    column.derived === undefined
      ? sql`jsonb_build_object(${column.field}::text, t._raw -> ${column.field}::text)::text`
      : sql`t._raw::text`;
  const { rows } = await trx.sql<{ id: string; key: string; item: string; filled: boolean }>`
    select t._change_id as id, concat_ws(':', ${key}) as key, ${needed} as item,
      t.${sql.id(column.name)} is not null as filled
    from ${data} as t
    where t._user_id = ${userId}::bigint and t._change_id > ${rest.after}::bigint and ${rest.which}
    order by t._change_id limit ${rest.most}`;
  const last = rows.at(-1)?.id;
  if (last === undefined) return undefined;
  const unfit: (Record<'id' | 'key' | 'value', string> & { readonly filled: boolean })[] = [];
  let values = 0;
  const filling = rows.flatMap(({ id, key, item, filled }) => {
    const fields = fieldSources(item);
    const value = column.derived === undefined ? fields.get(column.field) : column.derived.value(fields);
    const isEmpty = value === undefined || value === 'null';
    if (!isEmpty) values += 1;
    if (isEmpty && !filled) return [];
    const { others, conflicts } = otherValues(fields, table.name, [column]);
    if (conflicts.length > 0) unfit.push({ id, key, value: value ?? '', filled });
    const only = isEmpty || column.derived !== undefined ? '{}' : `{${JSON.stringify(column.field)}:${value}}`;
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
