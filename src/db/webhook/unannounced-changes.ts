import { quotedText } from '../connection/quoted.ts';
import type { Db } from '../connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { CollectionName } from '../../model/collections.ts';

/** Tables whose finished rows the service announces (specification 6), and their keys. */
const TABLES_WITH_EVENTS = [
  ['research_jobs', 'job_id'],
  ['bulk_research_jobs', 'bulk_job_id'],
  ['lists', 'list_id'],
] as const;

/** Collections whose finished rows the service announces. */
export const COLLECTIONS_WITH_EVENTS: readonly CollectionName[] = TABLES_WITH_EVENTS.map(([table]) => table);

/** Changes that count, at most. */
const JUDGED = 1_000;
/** The latest rows of each table that are read, finished or not: this bounds the statement. */
const LOOKED_AT = 5_000;
/** Walks of the log in which the end of the first load is sought. */
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
 * @param isFinished whether a state, in the service's words, is final
 */
export async function unannouncedBetween(
  db: Db,
  userId: string,
  isFinished: (state: string) => boolean,
  { since, until }: { readonly since: Date; readonly until: Date },
): Promise<number> {
  if (!(await hasChangedSince(db, userId, since))) return 0;
  const finished = (await statesSince(db, userId, since)).filter(isFinished);
  if (finished.length === 0) return 0;
  const loaded = await loadedAt(db, userId);
  const changes = TABLES_WITH_EVENTS.map(([table, key]) => {
    const row = sql.id(key);
    // "Is not distinct" keeps the join to the primary key. Without statistics Postgres takes the index by age for as
    // good, and reads for each row all that were superseded in the same moment: whole pages.
    return sql`
      select c._changed_at, ${sql.raw(quotedText(table))} as collection, c.key, h._valid_from as before
      from (
        select _changed_at, _first_seen_at, ${row} as row_key, ${row}::text as key, ${stateIn('t')} as state
        from ${db.table(table)} as t
        where _user_id = ${userId}::bigint order by _change_id desc limit ${LOOKED_AT}
      ) as c
      left join ${db.table(`${table}_history`)} as h
        on h._user_id = ${userId}::bigint and h.${row} = c.row_key
          and h._valid_to is not distinct from c._changed_at
      where c._changed_at > ${since}::timestamptz
        and c._changed_at <= ${until}::timestamptz and c.state = any(${finished}::text[])
        -- A new row counts after the first load; another version only where the one before was not finished.
        and case when c._first_seen_at = c._changed_at
          then c._changed_at > ${loaded.get(table) ?? null}::timestamptz
          else coalesce(${stateIn('h')} <> all(${finished}::text[]), true) end`;
  });
  const { rows } = await db.sql<{ unannounced: string }>`
    select count(*) as unannounced
    from (
      select * from (${sql.join(changes, sql` union all `)}) as every order by _changed_at desc limit ${JUDGED}
    ) as f
    where not exists (
      select from ${db.table('events')} as e
      where e._user_id = ${userId}::bigint and e._collection = f.collection and e._key = f.key
        and e.received_at <= f._changed_at and e.received_at > coalesce(f.before - ${STALE}, '-infinity'))`;
  return Number(rows[0]?.unannounced ?? 0);
}

async function hasChangedSince(db: Db, userId: string, since: Date): Promise<boolean> {
  const latest = TABLES_WITH_EVENTS.map(
    ([table]) => sql`
      select * from (
        select _changed_at from ${db.table(table)} where _user_id = ${userId}::bigint order by _change_id desc limit 1
      ) as l where _changed_at > ${since}::timestamptz`,
  );
  const { rows } = await db.sql`select 1 from (${sql.join(latest, sql` union all `)}) as changed`;
  return rows.length > 0;
}

/** A row's state in the service's words; null where it has none. Only research jobs always have a column for it. */
function stateIn(table: string): RawBuilder<string | null> {
  const raw = sql.ref(`${table}._raw`);
  return sql`coalesce(${raw} ->> 'status', ${raw} ->> 'state')`;
}

/** The states, in the service's words, that lately changed rows have or had. */
async function statesSince(db: Db, userId: string, since: Date): Promise<string[]> {
  const tables = TABLES_WITH_EVENTS.map(
    ([table]) => sql`
      select ${stateIn('c')} as state from (
        select _raw, _changed_at from ${db.table(table)}
        where _user_id = ${userId}::bigint order by _change_id desc limit ${LOOKED_AT}
      ) as c where _changed_at > ${since}::timestamptz
      union
      select ${stateIn('h')} from (
        select _raw from ${db.table(`${table}_history`)}
        where _user_id = ${userId}::bigint and _valid_to > ${since}::timestamptz
        order by _valid_to desc limit ${LOOKED_AT}
      ) as h`,
  );
  const { rows } = await db.sql<{ state: string | null }>`
    select state from (${sql.join(tables, sql` union `)}) as every`;
  return rows.flatMap(({ state }) => (state === null ? [] : [state]));
}

/** By collection, the end of the oldest full walk in the log; without one, new rows do not count. */
async function loadedAt(db: Db, userId: string): Promise<ReadonlyMap<string, Date>> {
  const rows = await db.mirror
    .selectFrom(
      db.mirror
        .selectFrom('sync_log')
        .select(['collection', 'kind', 'outcome', 'ended_at'])
        .where('_user_id', '=', userId)
        .orderBy('started_at')
        .limit(WALKS)
        .as('walk'),
    )
    .select(['collection', (each) => each.fn.min('ended_at').as('endedAt')])
    .where('kind', '=', 'full')
    .where('outcome', '=', 'completed')
    .groupBy('collection')
    .execute();
  return new Map(rows.map(({ collection, endedAt }) => [collection, endedAt]));
}
