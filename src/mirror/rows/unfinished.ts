import { allSent, type Db } from '../../db/connection/db.ts';
import type { Scope } from '../../model/collections.ts';
import { latestMoment } from '../../model/json/timestamp-text.ts';
import type { ChangedRow } from './classify.ts';
import { FINISH_MS } from '../../model/row-state.ts';
import { ofScope } from '../table.ts';

/** Part of the rows that may take longer than what is learnt. */
const LATE = 0.01;
/** Growth of what is learnt by one page, as an exponent: so large that only what was seen bounds it. */
const MOST_GROWTH = 20;

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
  const known = rows.filter(({ change }) => change !== 'inserted');
  const finished = known.filter(({ item }) => item.state === 'finished');
  const ended = known.filter(({ item }) => item.state !== 'open');
  const warm = rows.filter(({ item }) => item.state !== 'finished');
  // In this order: what is learnt is read from rows that are then removed.
  await allSent(
    ended.length === 0 ? undefined : learnFinish(trx, scope, keysOf(ended), at),
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

/**
 * Learns from rows that were open and are not any more within what time nearly all are: each that took longer than that
 * raises it, each that did not lowers it, so that it stands still where one of a hundred takes longer. No step goes
 * beyond what was seen. A row counts from its last change until it was last known to be open: how long nobody looked
 * is no part of how long it took. Rows that failed before are not open.
 */
async function learnFinish(trx: Db, scope: Scope, keys: readonly string[], at: Date): Promise<void> {
  const { unknown, least, most } = FINISH_MS;
  await trx.sql`
    update ${trx.stateTable('scope')} as s
    set finish_ms = least(${most}::float8, greatest(${least}::float8, x.finish_ms))
    from (
      select r.finish, case
          when count(*) filter (where r.took > r.finish) = 0
            then greatest(r.finish * exp(-${LATE}::float8 * count(*)), max(r.took))
          else least(max(r.took),
            r.finish * exp(least(${MOST_GROWTH}::float8,
              count(*) filter (where r.took > r.finish) - ${LATE}::float8 * count(*))))
        end as finish_ms
      from (
        select coalesce(t.finish_ms, ${unknown}::float8) as finish,
          (extract(epoch from coalesce(t.last_read_at, ${at}::timestamptz) - u.since) * 1000)::float8 as took
        from ${trx.stateTable('unsettled')} as u
        join ${trx.stateTable('scope')} as t
          on t._user_id = u._user_id and t.collection = u.collection and t.parent = u.parent
        where u._user_id = ${scope.userId}::bigint and ${ofScope('u', scope)} and u.key = any(${[...keys]}::text[])
          and not u.finished
      ) as r
      group by r.finish
    ) as x
    where s._user_id = ${scope.userId}::bigint and ${ofScope('s', scope)}`;
}

/** Removes rows that are finished, or deleted: these do not change any more. */
export async function forgetUnfinished(trx: Db, scope: Scope, keys: readonly string[]): Promise<void> {
  await trx.sql`
    delete from ${trx.stateTable('unsettled')} as u
    where u._user_id = ${scope.userId}::bigint and ${ofScope('u', scope)} and u.key = any(${[...keys]}::text[])`;
}
