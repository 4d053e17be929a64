import { allSent, type Db } from '../../db/connection/db.ts';
import type { Scope } from '../../model/collections.ts';
import { latestMoment } from '../../model/json/timestamp-text.ts';
import type { ChangedRow } from './classify.ts';
import { ofScope } from '../table.ts';

/**
 * Records which rows may still change, in a table of their own. It takes changed rows alone: a state can't change
 * without its row.
 * @param at the moment of the change: an unfinished row cools from then on
 */
export async function recordUnfinished(
  trx: Db,
  scope: Scope,
  rows: readonly ChangedRow[],
  at: Date,
): Promise<void> {
  const finished = rows.filter(({ change, item }) => change !== 'inserted' && item.state === 'finished');
  const warm = rows.filter(({ item }) => item.state !== 'finished');
  await allSent(
    finished.length === 0 ? undefined : forgetUnfinished(trx, scope, keysOf(finished)),
    warm.length === 0 ? undefined : keepWarm(trx, scope, warm, at),
  );
}

function keysOf(rows: readonly ChangedRow[]): string[] {
  return rows.map(({ key }) => key);
}

async function keepWarm(trx: Db, scope: Scope, warm: readonly ChangedRow[], at: Date): Promise<void> {
  await trx.sql`
    insert into ${trx.stateTable('unsettled')} (_user_id, collection, parent, key, since, finished)
    select a._user_id, ${scope.collection}, ${scope.parent}, x.key, x.since, x.failed
    from ${trx.stateTable('account')} as a
    cross join unnest(${keysOf(warm)}::text[],
      ${warm.map((each) => warmSince(each, at).toISOString())}::timestamptz[],
      ${warm.map(({ item }) => item.state === 'failed')}::boolean[]) as x (key, since, failed)
    where a._user_id = ${scope.userId}::bigint
    on conflict (_user_id, collection, parent, key) do update
    set since = excluded.since, finished = excluded.finished`;
}

/**
 * When the row begins to cool. A row that had failed before it came here: at the latest moment that it names itself.
 * Otherwise polls would read all failures of years again for an hour after the first load. An open row: when it came,
 * since no moment of its past says when it will change.
 */
function warmSince({ change, item }: ChangedRow, at: Date): Date {
  const latest = item.state === 'failed' && change === 'inserted' ? latestMoment(item.source) : undefined;
  return latest === undefined ? at : new Date(Math.min(latest, at.getTime()));
}

/** Removes rows that are finished, or deleted: these do not change any more. */
export async function forgetUnfinished(trx: Db, scope: Scope, keys: readonly string[]): Promise<void> {
  await trx.sql`
    delete from ${trx.stateTable('unsettled')} as u
    where u._user_id = ${scope.userId}::bigint and ${ofScope('u', scope)} and u.key = any(${[...keys]}::text[])`;
}
