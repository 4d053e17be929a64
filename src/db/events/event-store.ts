import { commitDurably, type Db } from '../connection/db.ts';
import { sql } from 'kysely';
import type { Clock } from '@research-mirror/runtime/clock';
import type { CollectionName } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';
import type { HintedRow } from '../../model/hint.ts';
import { forgottenHash } from '../../model/forgotten-key.ts';
import { jsonbText, storedBody, type StoredBody } from '../../model/json/jsonb-text.ts';
import { timestampText } from '../../model/json/timestamp-text.ts';
import type { EventSink, VerifiedEvent } from '../../model/webhook/verified-event.ts';
import { coalesced, wake } from '../notify/wakeups.ts';
import { pruneInBatches } from '../ownership/prune-in-batches.ts';
import { addHints } from './hint-store.ts';
import { isRefusedValue } from '../connection/sql-state.ts';
import { mirroredRows } from './stored-events.ts';

/** Other processes are woken once in this time at most, milliseconds: one wake-up is enough for many events. */
const COALESCE_MS = 50;
/** IDs stay so many times longer than their rows, and for so long at least (ms): a late repetition is recognized. */
const ID_RETENTIONS = 4;
const ID_LEAST_MS = 400 * 86_400_000;

/**
 * Stores events, and soon after the commit wakes the process that owns the account.
 * @param db a pool that pages do not use: a delivery must be answered within a second
 * @param collections mirrored ones: hints are for these only
 */
export function createEventSink(
  db: Db,
  collections: readonly CollectionName[],
  clock: Pick<Clock, 'sleep'>,
): EventSink {
  const wakeOthers = coalesced(async () => {
    await wake(db);
    await clock.sleep(COALESCE_MS);
  });
  return {
    async store(userId, event) {
      const outcome = await storeEvent(db, userId, event, mirroredRows(event.rows, collections));
      if (outcome === 'stored') void wakeOthers();
      return outcome;
    },
  };
}

/**
 * Stores an event and its hints in one transaction: when this resolves, they are on disk. Any process may receive the
 * event, so there is no fence; where several do at once, one stores it, and the others wait for that commit and find
 * it known. IDs and hashes of bodies outlive the rows (`pruneEvents`): an ID with another body is another event,
 * which gets an ID of its own.
 * @param rows those that the event names, of mirrored collections
 * @throws DatabaseUnavailable: it may have been stored, and can be stored again
 */
export async function storeEvent(
  db: Db,
  userId: string,
  event: VerifiedEvent,
  rows: readonly HintedRow[],
): Promise<'stored' | 'known'> {
  try {
    return await store(db, userId, event, rows, contentOf(event));
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    return store(db, userId, event, rows, contentOf(event, false));
  }
}

/** The columns of an event's body. */
interface Content extends StoredBody {
  readonly data: string | null;
}

function store(
  db: Db,
  userId: string,
  { id, type, createdAt }: VerifiedEvent,
  rows: readonly HintedRow[],
  content: Content,
): Promise<'stored' | 'known'> {
  const named = rows.find(({ key }) => key !== '');
  const { data, raw, verbatim } = content;
  return db.transaction(async (trx) => {
    const seen = await firstSeen(trx, userId, id, content);
    if (seen === undefined) return 'known';
    await commitDurably(trx);
    // Of a row that was forgotten on request nothing is kept but that the event came.
    const { rows: stored } = await trx.sql`
      insert into ${trx.table('events')}
        (_user_id, id, type, created_at, data, received_at, _raw, _verbatim, _collection, _key)
      select a._user_id, ${seen.id}, ${type ?? null}, ${timestampText(createdAt ?? '') ?? null}::timestamptz,
        ${data}::text::jsonb, ${seen.at}::timestamptz, ${raw}::text::jsonb, ${verbatim}, ${named?.collection ?? null}::text,
        ${named?.key ?? null}::text
      from ${trx.stateTable('account')} as a
      where a._user_id = ${userId}::bigint and not exists (
        select from ${trx.table('forgotten')} as f
        where f._user_id = ${userId}::bigint and f.key_hash = any(array(
          select decode(x.hash, 'hex') from unnest(${hashesOf(userId, rows)}::text[]) as x (hash))))
      returning id`;
    if (stored.length > 0) await addHints(trx, userId, rows, seen.at);
    return 'stored';
  });
}

/** By which the rows would be known if they were forgotten. */
function hashesOf(userId: string, rows: readonly HintedRow[]): string[] {
  return rows.flatMap(({ collection, parent, key }) =>
    key === '' ? [] : [forgottenHash({ userId, collection, parent }, key)],
  );
}

/** So many digits of the body's hash tell events of one ID apart. */
const TELLING_DIGITS = 16;

/**
 * Stores that the event was seen.
 * @returns the ID under which to store it, and when it came; undefined: it was seen before
 */
async function firstSeen(
  trx: Db,
  userId: string,
  id: string,
  { raw, verbatim }: Content,
): Promise<{ readonly id: string; readonly at: Date } | undefined> {
  const table = trx.stateTable('event_seen');
  // Of the text that jsonb prints: white space and the order of fields make no difference.
  const hash = sql`encode(sha256(convert_to(coalesce(${verbatim}::text, ${raw}::text::jsonb::text), 'UTF8')), 'hex')`;
  const note = async (as: string): Promise<Date | undefined> => {
    const { rows } = await trx.sql<{ now: Date }>`
      insert into ${table} (_user_id, id, received_at, content)
      values (${userId}::bigint, ${as}, clock_timestamp(), ${hash})
      on conflict do nothing returning received_at as now`;
    return rows[0]?.now;
  };
  const at = await note(id);
  if (at !== undefined) return { id, at };
  // An event from before there were hashes is compared with its row, as long as that is there.
  const { rows } = await trx.sql<{ hash: string; same: boolean }>`
    select ${hash} as hash, coalesce(s.content = ${hash}, e._raw = ${raw}::text::jsonb, true) as same
    from ${table} as s left join ${trx.table('events')} as e on e._user_id = s._user_id and e.id = s.id
    where s._user_id = ${userId}::bigint and s.id = ${id}`;
  const known = rows[0];
  if (known === undefined || known.same) return undefined;
  const otherId = `${id}#${known.hash.slice(0, TELLING_DIGITS)}`;
  const otherAt = await note(otherId);
  return otherAt && { id: otherId, at: otherAt };
}

/** @param asJson false: a body that Postgres refuses as JSON, as one JSON string */
function contentOf({ source, dataSource }: VerifiedEvent, asJson = true): Content {
  const data = asJson && dataSource !== undefined ? jsonbText(dataSource).raw : null;
  return { data, ...storedBody(source, asJson) };
}

/**
 * Removes an account's events that were received more than `keepMs` ago, and later their IDs, a batch at a time.
 * @param signal ends it after the current batch; the next call goes on
 */
export async function pruneEvents(db: Db, fence: Fence, keepMs: number, signal: AbortSignal): Promise<void> {
  const seenMs = Math.max(ID_RETENTIONS * keepMs, ID_LEAST_MS);
  for (const [table, ms] of [
    [db.table('events'), keepMs],
    [db.stateTable('event_seen'), seenMs],
  ] as const) {
    const rows = { table, key: 'id' };
    await pruneInBatches(
      db,
      fence,
      rows,
      signal,
      (before) => sql`received_at < ${before(ms)} order by received_at`,
    );
  }
}
