import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import type { Scope } from '../../model/collections.ts';
import { latestMoment } from '../../model/json/latest-moment.ts';
import type { ChangedRow } from './classify.ts';
import type { StateClass } from '../../model/row-state.ts';

/** A changed row with what its state says. */
export interface StatedRow {
  readonly row: ChangedRow;
  readonly state: StateClass;
}

/**
 * Keeps account of the rows that may still change, apart from the rows themselves. Only changed rows are looked at:
 * a state can't change without its row.
 * @param at the moment of the change, from which on an unsettled row cools
 */
export async function recordUnfinished(
  trx: Db,
  scope: Scope,
  rows: readonly StatedRow[],
  at: Date,
): Promise<void> {
  const finished = rows.filter(({ row, state }) => state === 'finished' && row.change !== 'inserted');
  const warm = rows.filter(({ state }) => state !== 'finished');
  if (finished.length > 0) {
    await forgetUnfinished(
      trx,
      scope,
      finished.map(({ row }) => row.key),
    );
  }
  if (warm.length > 0) {
    await sql`
      insert into ${trx.stateTable('unsettled')} (_user_id, collection, parent, key, since, finished)
      select a._user_id, ${scope.collection}, ${scope.parent}, x.key, x.since, x.failed
      from ${trx.stateTable('account')} as a
      cross join unnest(${warm.map(({ row }) => row.key)}::text[],
        ${warm.map((each) => warmSince(each, at).toISOString())}::timestamptz[],
        ${warm.map(({ state }) => state === 'failed')}::boolean[]) as x (key, since, failed)
      where a._user_id = ${scope.userId}::bigint
      on conflict (_user_id, collection, parent, key) do update
      set since = excluded.since, finished = excluded.finished`.execute(trx);
  }
}

/**
 * A row that had failed before it came here cools from the latest moment that it tells of. All failures of years would
 * else be read again with every poll for an hour after the first load. What is open stays warm from when it came: of
 * its next change no moment of its past tells anything.
 */
function warmSince({ row, state }: StatedRow, at: Date): Date {
  const told = state === 'failed' && row.change === 'inserted' ? latestMoment(row.item.fields) : undefined;
  return told === undefined ? at : new Date(Math.min(told, at.getTime()));
}

/** Deleted rows do not change any more. */
export async function forgetUnfinished(trx: Db, scope: Scope, keys: readonly string[]): Promise<void> {
  await sql`
    delete from ${trx.stateTable('unsettled')}
    where _user_id = ${scope.userId}::bigint and collection = ${scope.collection} and parent = ${scope.parent}
      and key = any(${[...keys]}::text[])`.execute(trx);
}
