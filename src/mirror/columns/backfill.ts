import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { fenced } from '../../db/ownership/fenced.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';
import { fieldSources } from '../../model/json/json-text.ts';
import { readRegistry } from './column-registry.ts';
import { countConflicts } from '../rows/counters.ts';
import { type FieldColumn, otherValues } from '../rows/row-payload.ts';
import { dataTable, type Table, tableOf } from '../table.ts';
import { columnExpression } from '../rows/write-rows.ts';

/** Rows of one batch, so that it stays within the fence's time bounds. */
const BATCH = 500;

/** A column to fill: rows first, up to `until`, then versions in history, the longest superseded first. */
interface Task {
  readonly collection: CollectionName;
  readonly field: string;
  readonly doneThrough: string;
  readonly until: string;
  /** As text: a Date has no microseconds. Null: rows are not all filled yet. */
  readonly historyThrough: string | null;
}

/**
 * Fills one batch of the account's first task. Rows come in the order of their change IDs. So a crash costs one
 * batch, rows that changed since drop out by themselves (they were written with the column), and rows deleted since
 * come last. Then come the versions that were archived before the column was there. One that is archived meanwhile is
 * of a filled row, or comes last.
 * @returns true while there is more to fill
 */
export async function backfill(db: Db, fence: Fence): Promise<boolean> {
  const { userId } = fence;
  const { rows: tasks } = await db.sql<Task>`
    select collection, field, done_through as "doneThrough", until, history_through::text as "historyThrough"
    from ${db.stateTable('backfill')}
    where _user_id = ${userId}::bigint order by collection, field limit 1`;
  const [task] = tasks;
  if (task === undefined) return false;
  const table = tableOf(db.schema, task.collection);
  // Read again: what this process knows may be older than the task.
  const registry = await readRegistry(db, table);
  const column = registry.columns.find(({ field }) => field === task.field);
  const inHistory = column !== undefined && registry.archived.includes(column.name);
  await fenced(db, fence, async (trx, now) => {
    const rest =
      column && (task.historyThrough === null ? rowsOf(table, task, column) : versionsOf(table, task));
    const filled = column && rest && (await fillBatch(trx, now, table, userId, rest, column));
    const next = filled ?? (task.historyThrough === null && inHistory ? BEFORE_HISTORY : undefined);
    const ofTask = sql`collection = ${task.collection} and field = ${task.field}`;
    const change =
      next === undefined
        ? sql`
            delete from ${trx.stateTable('backfill')}
            where _user_id = ${userId}::bigint and ${ofTask}`
        : sql`
            update ${trx.stateTable('backfill')}
            set done_through = ${next.id}::bigint, history_through = ${next.moment}::timestamptz
            where _user_id = ${userId}::bigint and ${ofTask}`;
    await change.execute(trx);
  });
  return true;
}

/** Where a batch ended. */
interface Place {
  readonly id: string;
  readonly moment: string | null;
}

const BEFORE_HISTORY: Place = { id: '0', moment: '-infinity' };

/** What is left to fill of the table or of its history: conditions on `t`, and the order. */
interface Rest {
  readonly table: RawBuilder<unknown>;
  readonly left: RawBuilder<unknown>;
  readonly moment: RawBuilder<unknown>;
  readonly order: RawBuilder<unknown>;
  readonly upTo: (place: Place) => RawBuilder<unknown>;
  /** Whether a value that does not fit was counted already, when the row was written or filled. */
  readonly isCounted: (id: string) => boolean;
}

/** A deletion gives its row a later change ID and no value: its ID does not show whether it came with the column. */
function rowsOf(table: Table, task: Task, column: FieldColumn): Rest {
  const until = sql`${task.until}::bigint`;
  const deletedSince = sql`t._deleted_at is not null and t.${sql.id(column.name)} is null`;
  return {
    table: dataTable(table),
    left: sql`t._change_id > ${task.doneThrough}::bigint and (t._change_id <= ${until} or ${deletedSince})`,
    moment: sql`null::text`,
    order: sql`t._change_id`,
    upTo: ({ id }) => sql`t._change_id <= ${id}::bigint`,
    isCounted: (id) => BigInt(id) > BigInt(task.until),
  };
}

function versionsOf(table: Table, task: Task): Rest {
  return {
    table: dataTable(table, '_history'),
    left: sql`(t._valid_to, t._change_id) > (${task.historyThrough}::timestamptz, ${task.doneThrough}::bigint)`,
    moment: sql`t._valid_to::text`,
    order: sql`t._valid_to, t._change_id`,
    upTo: ({ id, moment }) => sql`(t._valid_to, t._change_id) <= (${moment}::timestamptz, ${id}::bigint)`,
    isCounted: () => false,
  };
}

/** @returns where the batch ended; undefined when there was nothing left */
async function fillBatch(
  trx: Db,
  at: Date,
  table: Table,
  userId: string,
  rest: Rest,
  column: FieldColumn,
): Promise<Place | undefined> {
  const { rows } = await trx.sql<Place & { raw: string }>`
    select t._change_id as id, ${rest.moment} as moment, t._raw::text as raw from ${rest.table} as t
    where t._user_id = ${userId}::bigint and ${rest.left}
    order by ${rest.order} limit ${BATCH}`;
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  let conflicts = 0;
  const filled = rows.flatMap(({ id, raw }) => {
    const fields = fieldSources(raw);
    const value = column.derived === undefined ? fields.get(column.field) : column.derived.value(fields);
    if (value === undefined || value === 'null') return [];
    const { others, conflicts: unfit } = otherValues(fields, table.name, [column]);
    if (!rest.isCounted(id)) conflicts += unfit.length;
    const only = column.derived === undefined ? `{${JSON.stringify(column.field)}:${value}}` : '{}';
    return [`{"c":${id},"r":${only}${others === undefined ? '' : `,"o":${others}`}}`];
  });
  if (filled.length > 0) {
    await trx.sql`
      update ${rest.table} as t set ${sql.id(column.name)} = ${columnExpression(column)}
      from jsonb_to_recordset(${`[${filled.join(',')}]`}::text::jsonb) as x (c bigint, o jsonb, r jsonb)
      where t._user_id = ${userId}::bigint and ${rest.left} and ${rest.upTo(last)} and t._change_id = x.c`;
  }
  if (conflicts > 0) {
    const scope = { userId, collection: table.name as CollectionName, parent: '' };
    await countConflicts(trx, scope, new Map([[column.field, conflicts]]), at);
  }
  return last;
}
