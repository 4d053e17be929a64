import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import { stateClass } from '../../model/row-state.ts';

/** Tables whose finished rows the service announces (specification 6), and their keys. */
const TABLES_WITH_EVENTS = [
  ['research_jobs', 'job_id'],
  ['bulk_research_jobs', 'bulk_job_id'],
  ['lists', 'list_id'],
] as const;

/** The latest rows of each table that are read, finished or not: this bounds the statement. */
const LOOKED_AT = 1_000;
/** Walks of the log in which the end of the first load is sought; without one, new rows do not count. */
const WALKS = 20_000;
/**
 * An event counts for a change up to this long before the superseded version was written: a stale replica may have
 * shown the old state once more.
 */
const STALE = sql`interval '1 minute'`;

/**
 * How many of an account's changes into a finished state between these moments no event had announced by the time their
 * page was written: the registrar's reason to look at the webhook. Rows of the first load are no changes. Asked each
 * minute: where nothing has changed since, three rows are read.
 */
export async function unannouncedBetween(db: Db, userId: string, since: Date, until: Date): Promise<number> {
  const changes = TABLES_WITH_EVENTS.map(([table, key]) => {
    const row = sql.id(key);
    const collection = sql.lit(table);
    // "Is not distinct" keeps the join to the primary key. Without statistics Postgres takes the index by age for as
    // good, and reads for each row all that were superseded in the same moment: whole pages.
    return sql`
      select c.state, c.is_new as "isNew", coalesce(h._raw ->> 'status', h._raw ->> 'state') as before
      from (
        select _changed_at, _first_seen_at = _changed_at as is_new, ${row} as row_key,
          -- Only research jobs always have a column for it.
          coalesce(_raw ->> 'status', _raw ->> 'state') as state
        from ${db.table(table)}
        where _user_id = ${userId}::bigint and (
          select max(_changed_at) from (
            select _changed_at from ${db.table(table)} where _user_id = ${userId}::bigint
            order by _change_id desc limit 1) as latest) > ${since}::timestamptz
        order by _change_id desc limit ${LOOKED_AT}
      ) as c
      left join ${db.table(`${table}_history`)} as h
        on h._user_id = ${userId}::bigint and h.${row} = c.row_key
          and h._valid_to is not distinct from c._changed_at
      where c._changed_at > ${since}::timestamptz and c._changed_at <= ${until}::timestamptz
        and (not c.is_new or c._changed_at > (
          select min(l.ended_at) from (
            select collection, kind, outcome, ended_at from ${db.table('sync_log')}
            where _user_id = ${userId}::bigint order by started_at limit ${WALKS}) as l
          where l.collection = ${collection} and l.kind = 'full' and l.outcome = 'completed'))
        and not exists (
          select from ${db.table('events')} as e
          where e._user_id = ${userId}::bigint and e._collection = ${collection} and e._key = c.row_key::text
            and e.received_at <= c._changed_at
            and e.received_at > coalesce(h._valid_from - ${STALE}, '-infinity'))`;
  });
  const { rows } = await db.sql<{ state: string | null; isNew: boolean; before: string | null }>`
    ${sql.join(changes, sql` union all `)}`;
  const isFinished = (state: string | null): boolean => state !== null && stateClass(state) !== 'open';
  // Another version counts only where the one before was not finished.
  return rows.filter(({ state, isNew, before }) => isFinished(state) && (isNew || !isFinished(before)))
    .length;
}
