import { sql } from 'kysely';
import { jsonbText } from '../model/values.ts';
import { stateClass } from '../model/page.ts';
import { type Fence, fenced, takeChangeIds } from '../postgres/fenced.ts';
import { type Db, onlyRow } from '../postgres/db.ts';
import type { TableChange } from '../postgres/notifications.ts';
import { type Registration, type RegistrationChange, registrationState, type Seen } from './registration.ts';

/** Time for which a replaced secret is still accepted, ms: deliveries may be under way or be repeated. */
const PREVIOUS_MS = 24 * 3_600_000;

export type RegistrationStore = ReturnType<typeof webhookStore>;

/**
 * The webhook registration of the fence's account, for its owner.
 * @param onChanged called after the account's row of the table `webhook` has changed
 */
export function webhookStore(db: Db, fence: Fence, onChanged: (change: TableChange) => void) {
  const { userId } = fence;
  return {
    /** @throws DatabaseUnavailable */
    async load(): Promise<Registration> {
      const found = await db.sql<Registration>`
        select coalesce(r.state, 'none') as state, r.url, r.secret,
          r.registering_at as "registeringAt", r.registered_at as "registeredAt", r.checked_at as "checkedAt",
          coalesce(r.replaced_at, '{}') as "replacedAt", r.verified_at as "verifiedAt",
          coalesce(r.mismatches, 0) as mismatches, r.error,
          -- Earlier versions kept those of earlier registrations, too.
          array(select url from ${db.stateTable('own_url')}
            where _user_id = ${userId}::bigint and registered_at >= r.registered_at) as "ownUrls",
          exists (select from ${db.stateTable('installation')} where held_at is not null) as "onHold",
          clock_timestamp() as now
        from (select) as one left join ${db.stateTable('registration')} as r on r._user_id = ${userId}::bigint`;
      const row = onlyRow(found);
      return { ...row, state: registrationState(row.state) };
    },
    /**
     * Commits a change, and what the service shows as the account's row of the table `webhook`.
     * @param change gets the transaction's time
     * @throws LeaseLost, DatabaseUnavailable
     */
    async save(change: (now: Date) => RegistrationChange, seen?: Seen): Promise<void> {
      const changeId = await fenced(db, fence, async (trx, now) => {
        await saveChange(trx, userId, change(now), now);
        return seen === undefined ? undefined : writeWebhookRow(trx, userId, seen, now);
      });
      if (changeId !== undefined) onChanged({ table: 'webhook', userId, changeId });
    },
    unannounced: (since: Date, until: Date) => unannouncedBetween(db, userId, since, until),
  };
}

async function saveChange(trx: Db, userId: string, change: RegistrationChange, now: Date): Promise<void> {
  const { ownUrls, secret } = change;
  if (ownUrls !== undefined) {
    await trx.state.deleteFrom('own_url').where('_user_id', '=', userId).execute();
    for (const url of new Set(ownUrls)) {
      await trx.state.insertInto('own_url').values({ _user_id: userId, url, registered_at: now }).execute();
    }
  }
  const table = trx.stateTable('registration');
  await trx.sql`insert into ${table} (_user_id) values (${userId}::bigint) on conflict (_user_id) do nothing`;
  if (secret !== undefined) {
    // The replaced one stays valid for a while. The same one changes nothing.
    const until = new Date(now.getTime() + PREVIOUS_MS);
    await trx.sql`
      update ${table}
      set previous_secret = secret, previous_until = ${until}::timestamptz,
        secret = ${secret}, secret_at = ${now}::timestamptz
      where _user_id = ${userId}::bigint and secret is distinct from ${secret}`;
  }
  const columns = {
    state: change.state,
    url: change.url,
    registering_at: change.registeringAt,
    registered_at: change.registeredAt,
    checked_at: change.checkedAt,
    replaced_at: change.replacedAt,
    mismatches: change.mismatches,
    error: change.error,
  };
  const set = Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
  if (Object.keys(set).length === 0) return;
  await trx.state.updateTable('registration').set(set).where('_user_id', '=', userId).execute();
}

/**
 * Writes what the service shows into the account's row of the table `webhook`; an unchanged row costs no write
 * (invariant 3).
 * @returns the row's new change ID; undefined: nothing has changed
 */
async function writeWebhookRow(trx: Db, userId: string, seen: Seen, now: Date): Promise<string | undefined> {
  const table = trx.table('webhook');
  const raw = seen === 'none' ? null : jsonbText(seen.source).raw;
  const { rows } = await trx.sql<{ same: boolean }>`
    select case when _deleted_at is null then _raw end is not distinct from ${raw}::text::jsonb as same
    from ${table} where _user_id = ${userId}::bigint`;
  const [stored = { same: seen === 'none' }] = rows;
  if (stored.same) return undefined;
  const changeId = ((await takeChangeIds(trx, userId, 1)) + 1n).toString();
  if (seen === 'none') {
    await trx.sql`
      update ${table} set _deleted_at = ${now}::timestamptz, _changed_at = ${now}::timestamptz,
        _change_id = ${changeId}::bigint
      where _user_id = ${userId}::bigint`;
    return changeId;
  }
  await trx.sql`
    insert into ${table}
      (_user_id, url, active, event_types, _first_seen_at, _changed_at, _change_id, _deleted_at, _raw)
    select ${userId}::bigint, ${jsonbText(JSON.stringify(seen.url)).raw}::text::jsonb #>> '{}', ${seen.active}::boolean,
      nullif(raw -> 'event_types', 'null'), ${now}::timestamptz, ${now}::timestamptz, ${changeId}::bigint, null, raw
    from (select ${raw}::text::jsonb as raw) as shown
    on conflict (_user_id) do update
    set url = excluded.url, active = excluded.active, event_types = excluded.event_types,
      _changed_at = excluded._changed_at, _change_id = excluded._change_id, _deleted_at = null, _raw = excluded._raw`;
  return changeId;
}

/** Tables whose finished rows the service announces (specification 6), and their keys. */
const TABLES_WITH_EVENTS = [
  ['research_jobs', 'job_id'],
  ['bulk_research_jobs', 'bulk_job_id'],
  ['lists', 'list_id'],
] as const;

/** Number of latest rows that are read of each table, finished or not: a bound of the statement. */
const LOOKED_AT = 1_000;
/** Number of logged walks among which the end of the first load is sought; without one, new rows do not count. */
const WALKS = 20_000;
/** An event counts if it came this long before the superseded version: a stale replica may have shown the old state. */
const STALE = sql`interval '1 minute'`;

/**
 * Counts an account's changes into a finished state between these moments that no event had announced when their page
 * was written: the registrar then looks at the webhook. Rows of the first load are no changes. Runs each minute and
 * reads three rows if nothing has changed since.
 */
export async function unannouncedBetween(db: Db, userId: string, since: Date, until: Date): Promise<number> {
  const changes = TABLES_WITH_EVENTS.map(([table, key]) => {
    const row = sql.id(key);
    const collection = sql.lit(table);
    // "Is not distinct" keeps the join to the primary key. Without statistics Postgres considers the index by age as
    // good, and reads for each row all that were superseded at the same time: whole pages.
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
  // Another version counts only if the one before was not finished.
  return rows.filter(({ state, isNew, before }) => isFinished(state) && (isNew || !isFinished(before))).length;
}
