import type { Db } from '../connection/db.ts';
import { fieldSource } from '../../model/json/json-text.ts';
import { jsonbText } from '../../model/json/jsonb-text.ts';
import type { Seen } from '../../model/webhook/registration.ts';
import { takeChangeIds } from '../ownership/change-ids.ts';

/**
 * Writes what the service shows into the account's row of the table `webhook`, in a fenced transaction; an unchanged
 * row costs no write (invariant 3).
 * @param now the transaction's time
 * @returns the row's new change ID; undefined: nothing has changed
 */
export async function writeWebhookRow(
  trx: Db,
  userId: string,
  seen: Seen,
  now: Date,
): Promise<string | undefined> {
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
