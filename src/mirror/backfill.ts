import { type Kysely, sql } from 'kysely';
import { fenced } from '../db/fenced.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Fence } from '../model/fence.ts';
import { fieldSources } from '../model/json-text.ts';
import { readRegistry } from './column-registry.ts';
import type { Executor } from './executor.ts';
import { countConflicts } from './counters.ts';
import { type FieldColumn, otherValues } from './row-payload.ts';
import { named, own, type Table, tableOf } from './table.ts';
import { columnExpression } from './write-rows.ts';

/** Rows of one batch: short enough for the fence's time bounds. */
const BATCH = 500;

interface Task {
  readonly collection: CollectionName;
  readonly field: string;
  readonly done_through: string;
  readonly until: string;
}

/**
 * Fills one batch of the account's oldest task: rows in the order of their change IDs, so that a crash costs one
 * batch and rows that changed since (they came with the column) drop out by themselves.
 * @returns true while there is more to fill
 */
export async function fillBatch(db: Kysely<unknown>, fence: Fence, schema: string): Promise<boolean> {
  const { rows: tasks } = await sql<Task>`
    select collection, field, done_through, until from ${own(schema, 'backfill')}
    where _user_id = ${fence.userId}::bigint order by collection, field limit 1`.execute(db);
  const [task] = tasks;
  if (task === undefined) return false;
  const table = tableOf(schema, task.collection);
  // Read afresh: what this process knew may be older than the task.
  const registry = await readRegistry(db, table);
  const column = registry.columns.find(({ field }) => field === task.field);
  await fenced(db, schema, fence, async (trx, now) => {
    const last =
      column === undefined ? undefined : await fillRows(trx, now, table, fence.userId, task, column);
    if (last === undefined) {
      await sql`
        delete from ${own(schema, 'backfill')}
        where _user_id = ${fence.userId}::bigint and collection = ${task.collection} and field = ${task.field}`.execute(
        trx,
      );
    } else {
      await sql`
        update ${own(schema, 'backfill')} set done_through = ${last}::bigint
        where _user_id = ${fence.userId}::bigint and collection = ${task.collection} and field = ${task.field}`.execute(
        trx,
      );
    }
  });
  return true;
}

/** @returns the last change ID of the batch; undefined when there was none left */
async function fillRows(
  trx: Executor,
  at: Date,
  table: Table,
  userId: string,
  task: Task,
  column: FieldColumn,
): Promise<string | undefined> {
  const { rows } = await sql<{ change_id: string; raw: string }>`
    select t._change_id as change_id, t._raw::text as raw from ${named(table)} as t
    where t._user_id = ${userId}::bigint and t._change_id > ${task.done_through}::bigint
      and t._change_id <= ${task.until}::bigint
    order by t._change_id limit ${BATCH}`.execute(trx);
  let conflicts = 0;
  const filled = rows.flatMap(({ change_id: changeId, raw }) => {
    const fields = fieldSources(raw);
    const value = fields.get(column.field);
    if (value === undefined || value === 'null') return [];
    const { others, conflicts: unfit } = otherValues(fields, table.name, [column]);
    conflicts += unfit.length;
    const only = `{${JSON.stringify(column.field)}:${value}}`;
    return [`{"c":${changeId},"r":${only}${others === undefined ? '' : `,"o":${others}`}}`];
  });
  if (filled.length > 0) {
    await sql`
      update ${named(table)} as t set ${sql.id(column.name)} = ${columnExpression(column)}
      from jsonb_to_recordset(${`[${filled.join(',')}]`}::text::jsonb) as x (c bigint, o jsonb, r jsonb)
      where t._user_id = ${userId}::bigint and t._change_id = x.c`.execute(trx);
  }
  if (conflicts > 0) {
    const scope = { userId, collection: task.collection, parent: '' };
    await countConflicts(trx, table.schema, scope, new Map([[column.field, conflicts]]), at);
  }
  return rows.at(-1)?.change_id;
}
