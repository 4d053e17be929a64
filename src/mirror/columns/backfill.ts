import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { fenced } from '../../db/ownership/fenced.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';
import { readRegistry } from './column-registry.ts';
import { countConflicts } from '../rows/counters.ts';
import { BATCH, fillBatch } from './fill-batch.ts';
import { tableOf } from '../table.ts';

/** A column to fill: rows first, up to `until`, then versions in history. */
interface Task {
  readonly collection: CollectionName;
  readonly field: string;
  /** The change ID of the last one that was filled. */
  readonly doneThrough: string;
  readonly until: string;
  /** Rows are all filled. */
  readonly inHistory: boolean;
}

/**
 * Fills one batch of the account's first task. Rows come in the order of their change IDs. So a crash costs one
 * batch, rows that changed since drop out by themselves (they were written with the column), and rows deleted since
 * come last. Then come the versions that were archived before the column was there. One that is archived meanwhile is
 * of a filled row.
 * @returns true while there is more to fill
 */
export async function backfill(db: Db, fence: Fence): Promise<boolean> {
  const { userId } = fence;
  // Programs of before filled versions by the time of their end, and kept their place by it: history begins again.
  const { rows: tasks } = await db.sql<Task>`
    select collection, field, case when history_through > '-infinity' then 0 else done_through end as "doneThrough",
      until, history_through is not null as "inHistory"
    from ${db.stateTable('backfill')}
    where _user_id = ${userId}::bigint order by collection, field limit 1`;
  const [task] = tasks;
  if (task === undefined) return false;
  const { collection, field, doneThrough, until, inHistory } = task;
  const table = tableOf(db.schema, collection);
  // Read again: what this process knows may be older than the task.
  const registry = await readRegistry(db, table);
  const column = registry.columns.find((each) => each.field === field);
  const isArchived = column !== undefined && registry.archived.includes(column.name);
  await fenced(db, fence, async (trx, now) => {
    // A deletion gives its row a later change ID and no value: its ID does not show whether it came with the column.
    const which =
      inHistory || column === undefined
        ? sql`true`
        : sql`(t._change_id <= ${until}::bigint or t._deleted_at is not null and t.${sql.id(column.name)} is null)`;
    const rest = { suffix: inHistory ? '_history' : '', after: doneThrough, which, most: BATCH } as const;
    const filled = column && (await fillBatch(trx, table, userId, rest, column));
    // What was written since was counted then.
    const isDue = ({ id }: { readonly id: string }): boolean => inHistory || BigInt(id) <= BigInt(until);
    const conflicts = filled?.unfit.filter(isDue).length ?? 0;
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
