import type { Db } from '../connection/db.ts';
import type { Fence } from '../../model/fence.ts';
import type {
  Registration,
  RegistrationChange,
  RegistrationStore,
  Seen,
} from '../../model/webhook/registration.ts';
import { REGISTRATION_STATES, type RegistrationState } from '../../model/webhook/webhook-secrets.ts';
import { unannouncedBetween } from './unannounced-changes.ts';
import { fenced } from '../ownership/fenced.ts';
import { jsonbText } from '../../model/json/jsonb-text.ts';
import { takeChangeIds } from '../ownership/change-ids.ts';

/** How long (ms) a replaced secret is still accepted: deliveries may be under way, or be repeated. */
const PREVIOUS_MS = 24 * 3_600_000;

/**
 * The webhook registration of the fence's account, in Postgres.
 * @param onChanged called after the account's row of the table `webhook` has changed
 */
export function webhookStore(
  db: Db,
  fence: Fence,
  onChanged: (changed: {
    readonly table: string;
    readonly userId: string;
    readonly changeId: string;
  }) => void,
): RegistrationStore {
  const { userId } = fence;
  return {
    load: () => loadRegistration(db, userId),
    async save(change, seen) {
      const changeId = await fenced(db, fence, async (trx, now) => {
        await saveChange(trx, userId, change(now), now);
        return seen === undefined ? undefined : writeWebhookRow(trx, userId, seen, now);
      });
      if (changeId !== undefined) onChanged({ table: 'webhook', userId, changeId });
    },
    unannounced: (since, until) => unannouncedBetween(db, userId, since, until),
  };
}

async function loadRegistration(db: Db, userId: string): Promise<Registration> {
  const { rows } = await db.sql<Registration>`
    select coalesce(r.state, 'none') as state, r.url, r.secret,
      r.registering_at as "registeringAt", r.registered_at as "registeredAt", r.checked_at as "checkedAt",
      coalesce(r.replaced_at, '{}') as "replacedAt", r.verified_at as "verifiedAt",
      coalesce(r.mismatches, 0) as mismatches, r.error,
      -- Versions before this one kept those of earlier registrations, too.
      array(select url from ${db.stateTable('own_url')}
        where _user_id = ${userId}::bigint and registered_at >= r.registered_at) as "ownUrls",
      exists (select from ${db.stateTable('installation')} where held_at is not null) as "onHold",
      clock_timestamp() as now
    from (select) as one left join ${db.stateTable('registration')} as r on r._user_id = ${userId}::bigint`;
  const [row] = rows;
  if (row === undefined) throw new Error('a registration was asked for, and no row came');
  return { ...row, state: registrationState(row.state) };
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
    // The one before stays good for a while. The same one again changes nothing.
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

/** A stored state; `none` where there is no row, or this version does not know the state. */
export function registrationState(text: string | null | undefined): RegistrationState {
  return REGISTRATION_STATES.find((state) => state === text) ?? 'none';
}

/**
 * Writes what the service shows into the account's row of the table `webhook`, in a fenced transaction; an unchanged
 * row costs no write (invariant 3).
 * @param now the transaction's time
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
