import { databaseTime, type Db } from '../connection/db.ts';
import { sql } from 'kysely';
import type { Fence } from '../../model/fence.ts';
import {
  type OwnUrl,
  type Registration,
  type RegistrationChange,
  type RegistrationStore,
  type StoredRegistration,
  UNREGISTERED,
  type Seen,
} from '../../model/webhook/registration.ts';
import { REGISTRATION_STATES, type RegistrationState } from '../../model/webhook/webhook-secrets.ts';
import { unannouncedBetween } from './unannounced-changes.ts';
import { fenced } from '../ownership/fenced.ts';
import { fieldSource } from '../../model/json/json-text.ts';
import { jsonbText } from '../../model/json/jsonb-text.ts';
import { takeChangeIds } from '../ownership/change-ids.ts';

export interface WebhookStoreOptions {
  readonly db: Db;
  readonly fence: Fence;
  /** Called after the account's row of the table `webhook` has changed. */
  readonly onChanged: (changed: {
    readonly table: string;
    readonly userId: string;
    readonly changeId: string;
  }) => void;
  /** Whether a row's state, in the service's words, is final. */
  readonly isFinished: (state: string) => boolean;
}

/** How long (ms) a replaced secret is still accepted: deliveries may be under way, or be repeated. */
const PREVIOUS_MS = 24 * 3_600_000;

/** The webhook registration of the fence's account, in Postgres. */
export function webhookStore({ db, fence, onChanged, isFinished }: WebhookStoreOptions): RegistrationStore {
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
    missed: (since, until) => unannouncedBetween(db, userId, isFinished, { since, until }),
  };
}

async function loadRegistration(db: Db, userId: string): Promise<StoredRegistration> {
  const row = await db.state
    .selectFrom('registration')
    .selectAll()
    .select(sql<Date>`clock_timestamp()`.as('now'))
    .where('_user_id', '=', userId)
    .executeTakeFirst();
  const ownUrls: OwnUrl[] = await db.state
    .selectFrom('own_url')
    .select(['url', 'registered_at as registeredAt'])
    .where('_user_id', '=', userId)
    .execute();
  const installation = await db.state.selectFrom('installation').select('held_at').executeTakeFirst();
  const registration: Registration =
    row === undefined
      ? UNREGISTERED
      : {
          state: registrationState(row.state),
          url: row.url,
          eventTypes: row.event_types as readonly string[] | null,
          secret: row.secret,
          registeringAt: row.registering_at,
          registeredAt: row.registered_at,
          checkedAt: row.checked_at,
          replacedAt: row.replaced_at,
          verifiedAt: row.verified_at,
          mismatches: row.mismatches,
          suspectAt: row.suspect_at,
          error: row.error,
        };
  return {
    registration,
    ownUrls,
    onHold: (installation?.held_at ?? null) !== null,
    now: row?.now ?? (await databaseTime(db)),
  };
}

async function saveChange(trx: Db, userId: string, change: RegistrationChange, now: Date): Promise<void> {
  if (change.keepOwnUrls !== undefined) {
    let others = trx.state.deleteFrom('own_url').where('_user_id', '=', userId);
    if (change.keepOwnUrls.length > 0) others = others.where('url', 'not in', change.keepOwnUrls);
    await others.execute();
  }
  for (const url of new Set(change.addOwnUrls)) {
    await trx.state
      .insertInto('own_url')
      .values({ _user_id: userId, url, registered_at: now })
      .onConflict((conflict) =>
        conflict
          .columns(['_user_id', 'url'])
          .doUpdateSet({ registered_at: (each) => each.ref('excluded.registered_at') }),
      )
      .execute();
  }
  await trx.state
    .insertInto('registration')
    .values({ _user_id: userId })
    .onConflict((conflict) => conflict.column('_user_id').doNothing())
    .execute();
  if (change.accepted !== undefined) {
    const { secret } = change.accepted;
    if (secret !== undefined) await replaceSecret(trx, userId, secret, now);
  }
  // Mismatches are about the registration before.
  const columns = { ...columnsOf(change), ...(change.accepted === undefined ? {} : { mismatches: 0 }) };
  if (Object.keys(columns).length === 0) return;
  await trx.state.updateTable('registration').set(columns).where('_user_id', '=', userId).execute();
}

/** Stores a new secret; the one before stays good for a while. The same one again changes nothing. */
async function replaceSecret(trx: Db, userId: string, secret: string, now: Date): Promise<void> {
  const until = new Date(now.getTime() + PREVIOUS_MS);
  await trx.sql`
    update ${trx.stateTable('registration')}
    set previous_secret = secret, previous_until = ${until}::timestamptz,
      secret = ${secret}, secret_at = ${now}::timestamptz
    where _user_id = ${userId}::bigint and secret is distinct from ${secret}`;
}

function columnsOf(change: RegistrationChange): Record<string, unknown> {
  const { eventTypes } = change;
  const columns = {
    state: change.state,
    url: change.url,
    event_types: eventTypes === undefined || eventTypes === null ? eventTypes : JSON.stringify(eventTypes),
    registering_at: change.registeringAt,
    registered_at: change.registeredAt,
    checked_at: change.checkedAt,
    replaced_at: change.replacedAt,
    suspect_at: change.suspectAt,
    error: change.error,
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
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
  const { rows } = await trx.sql<{ live: boolean; same: boolean | null }>`
    select _deleted_at is null as live, _raw = ${raw}::text::jsonb as same
    from ${table} where _user_id = ${userId}::bigint`;
  const stored = rows[0];
  if (seen === 'none') {
    if (stored?.live !== true) return undefined;
    const changeId = await nextChangeId(trx, userId);
    await trx.sql`
      update ${table} set _deleted_at = ${now}::timestamptz, _changed_at = ${now}::timestamptz,
        _change_id = ${changeId}::bigint
      where _user_id = ${userId}::bigint`;
    return changeId;
  }
  if (stored?.live === true && stored.same === true) return undefined;
  const changeId = await nextChangeId(trx, userId);
  const types = fieldSource(seen.source, 'event_types') ?? 'null';
  await trx.sql`
    insert into ${table}
      (_user_id, url, active, event_types, _first_seen_at, _changed_at, _change_id, _deleted_at, _raw)
    values (${userId}::bigint, ${storable(seen.url)}, ${seen.active}, nullif(${jsonbText(types).raw}::text::jsonb, 'null'),
      ${now}::timestamptz, ${now}::timestamptz, ${changeId}::bigint, null, ${raw}::text::jsonb)
    on conflict (_user_id) do update
    set url = excluded.url, active = excluded.active, event_types = excluded.event_types,
      _changed_at = excluded._changed_at, _change_id = excluded._change_id, _deleted_at = null, _raw = excluded._raw`;
  return changeId;
}

async function nextChangeId(trx: Db, userId: string): Promise<string> {
  return ((await takeChangeIds(trx, userId, 1)) + 1n).toString();
}

/** PostgreSQL's text can't contain U+0000, nor half a surrogate pair, which has no UTF-8. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\uFFFD');
}
