import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { fenced } from '../../db/ownership/fenced.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';
import { readRegistry } from './column-registry.ts';
import { countConflicts } from '../rows/counters.ts';
import { BATCH, fillBatch, type BatchEnd, type RowsToFill } from './fill-batch.ts';
import type { FieldColumn } from '../rows/row-payload.ts';
import { dataTable, type Table, tableOf } from '../table.ts';

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
    const filled = column && rest && (await fillAndCount(trx, now, table, userId, rest, column));
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

const BEFORE_HISTORY: BatchEnd = { id: '0', moment: '-infinity' };

/** What is left to fill, and which of its values were counted already, when the row was written or filled. */
interface Rest extends RowsToFill {
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
    most: BATCH,
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
    most: BATCH,
    isCounted: () => false,
  };
}

/** @returns where the batch ended; undefined when there was nothing left */
async function fillAndCount(
  trx: Db,
  at: Date,
  table: Table,
  userId: string,
  rest: Rest,
  column: FieldColumn,
): Promise<BatchEnd | undefined> {
  const filled = await fillBatch(trx, table, userId, rest, column);
  if (filled === undefined) return undefined;
  const conflicts = filled.unfit.filter(({ id }) => !rest.isCounted(id)).length;
  if (conflicts > 0) {
    const scope = { userId, collection: table.name as CollectionName, parent: '' };
    await countConflicts(trx, scope, new Map([[column.field, conflicts]]), at);
  }
  return filled.last;
}
