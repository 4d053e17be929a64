import type { Clock } from '@research-mirror/runtime/clock';
import { sql } from 'kysely';
import { addHints } from '../mirror/hint-store.ts';
import type { CollectionName } from '../model/collections.ts';
import { type HintedRow, rowsOfEvent } from '../model/hint.ts';
import { jsonbText, storedBody, timestampText } from '../model/values.ts';
import { forgottenHash } from '../model/key.ts';
import { commitDurably, databaseTime, type Db } from '../postgres/db.ts';
import { type Fence, pruneInBatches } from '../postgres/fenced.ts';
import { coalesced, wake } from '../postgres/notifications.ts';
import { isRefusedValue } from '../postgres/sql-state.ts';
import type { VerifiedEvent } from './read-event.ts';

/** Least time between two wake-ups of other processes, ms: one is enough for many events. */
const COALESCE_MS = 50;
/** Retention of IDs: a multiple of the rows', and a minimum, ms. A late repetition is recognized. */
const ID_RETENTIONS = 4;
const ID_LEAST_MS = 400 * 86_400_000;

export type EventSink = ReturnType<typeof createEventSink>;

/**
 * Stores events, and wakes the process that owns the account soon after the commit.
 * @param db a pool that pages do not use: a delivery must be answered within a second
 * @param collections the mirrored ones, which get hints
 */
export function createEventSink(db: Db, collections: readonly CollectionName[], clock: Pick<Clock, 'sleep'>) {
  const wakeOthers = coalesced(async () => {
    await wake(db);
    await clock.sleep(COALESCE_MS);
  });
  return {
    /** Resolves once the event is on disk: only then is it answered (invariant 7). */
    async store(userId: string, event: VerifiedEvent) {
      const outcome = await storeEvent(db, userId, event, mirroredRows(event.rows, collections));
      if (outcome === 'stored') void wakeOthers();
      return outcome;
    },
  };
}

/**
 * Stores an event and its hints in one transaction: when this resolves, they are on disk. Any process may receive the
 * event, so there is no fence. If several do at once, one stores it, and the others wait for that commit and find it
 * known. IDs and hashes of bodies outlive the rows (`pruneEvents`): an ID with another body is another event, which
 * gets an ID of its own.
 * @param rows that the event names, of mirrored collections
 * @throws DatabaseUnavailable: it may have been stored, and can be stored again
 */
export async function storeEvent(
  db: Db,
  userId: string,
  event: VerifiedEvent,
  rows: readonly HintedRow[],
): Promise<'stored' | 'known'> {
  const { id, type, createdAt } = event;
  const named = rows.find(({ key }) => key !== '');
  /** Hashes by which the rows are known if they were forgotten. */
  const hashes = rows.flatMap(({ collection, parent, key }) =>
    key === '' ? [] : [forgottenHash({ userId, collection, parent }, key)],
  );
  const store = (content: ReturnType<typeof contentOf>): Promise<'stored' | 'known'> =>
    db.transaction(async (trx) => {
      const { data, raw, verbatim } = content;
      const seen = await firstSeen(trx, userId, id, content);
      if (seen === undefined) return 'known';
      await commitDurably(trx);
      // For a row that was forgotten on request, only the event's arrival is kept.
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
            select decode(x.hash, 'hex') from unnest(${hashes}::text[]) as x (hash))))
        returning id`;
      if (stored.length > 0) await addHints(trx, userId, rows, seen.at);
      return 'stored';
    });
  try {
    return await store(contentOf(event));
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    return store(contentOf(event, false));
  }
}

/**
 * Stores that the event was seen.
 * @returns the ID under which to store it, and the time of its arrival; undefined: it was seen before
 */
async function firstSeen(
  trx: Db,
  userId: string,
  id: string,
  { raw, verbatim }: ReturnType<typeof contentOf>,
): Promise<{ readonly id: string; readonly at: Date } | undefined> {
  const table = trx.stateTable('event_seen');
  // The hash of the text that jsonb prints: white space and the order of fields make no difference.
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
  // An event from before there were hashes is compared with its row, if that still exists.
  const { rows } = await trx.sql<{ hash: string; same: boolean }>`
    select ${hash} as hash, coalesce(s.content = ${hash}, e._raw = ${raw}::text::jsonb, true) as same
    from ${table} as s left join ${trx.table('events')} as e on e._user_id = s._user_id and e.id = s.id
    where s._user_id = ${userId}::bigint and s.id = ${id}`;
  const known = rows[0];
  if (known === undefined || known.same) return undefined;
  const otherId = `${id}#${known.hash.slice(0, 16)}`;
  const otherAt = await note(otherId);
  return otherAt && { id: otherId, at: otherAt };
}

/** The columns of an event's body. @param asJson false: one JSON string, for a body that Postgres refuses as JSON */
function contentOf({ source, dataSource }: VerifiedEvent, asJson = true) {
  const data = asJson && dataSource !== undefined ? jsonbText(dataSource).raw : null;
  return { data, ...storedBody(source, asJson) };
}

/**
 * Removes an account's events that were received more than `keepMs` ago, and later their IDs, a batch at a time.
 * @param signal ends it after the current batch; the next call continues
 */
export async function pruneEvents(db: Db, fence: Fence, keepMs: number, signal: AbortSignal): Promise<void> {
  const seenMs = Math.max(ID_RETENTIONS * keepMs, ID_LEAST_MS);
  for (const [table, ms] of [
    [db.table('events'), keepMs],
    [db.stateTable('event_seen'), seenMs],
  ] as const) {
    const older = (before: (ms: number) => Date) => sql`received_at < ${before(ms)} order by received_at`;
    await pruneInBatches(db, fence, { table, key: 'id' }, signal, older);
  }
}

/** A row of `events`, as users see it. */
export type StoredEvent = Awaited<ReturnType<typeof listEvents>>[number];

/** The events of one account or of all, the newest first. */
export async function listEvents(
  db: Db,
  { limit, userId, type }: { readonly limit: number; readonly userId?: string; readonly type?: string },
) {
  // By account: an index has each one's newest events.
  const { rows } = await db.sql<{
    readonly userId: string;
    readonly id: string;
    readonly type: string | null;
    readonly createdAt: Date | null;
    readonly receivedAt: Date;
    /** Of the named row. */
    readonly collection: string | null;
    readonly key: string | null;
    /** JSON text with every digit; null: the event has no `data`. */
    readonly data: string | null;
  }>`
    select e._user_id as "userId", e.id, e.type, e.created_at as "createdAt", e.received_at as "receivedAt",
      e._collection as collection, e._key as key, e.data::text as data
    from ${db.stateTable('account')} as a
    cross join lateral (
      select * from ${db.table('events')} as r
      where r._user_id = a._user_id ${type === undefined ? sql`` : sql`and r.type = ${type}`}
      order by r.received_at desc limit ${limit}) as e
    ${userId === undefined ? sql`` : sql`where a._user_id = ${userId}::bigint`}
    order by e.received_at desc, e._user_id, e.id limit ${limit}`;
  return rows;
}

/** The event's body as JSON text, as delivered: one for each account that has an event with this ID. */
export async function eventTexts(db: Db, id: string): Promise<string[]> {
  const { rows } = await db.sql<{ text: string }>`
    select coalesce(e._verbatim, e._raw::text) as text
    from ${db.stateTable('account')} as a
    join ${db.table('events')} as e on e._user_id = a._user_id
    where e.id = ${id} order by e._user_id`;
  return rows.map(({ text }) => text);
}

/**
 * Replays stored events as if they had just come: the rows that they name are due. The caller then wakes the owner's
 * process (notifications.ts).
 * @param mirrored collections that are mirrored here
 * @returns the known events, each with the rows that are due to be read
 */
export async function replayEvents(db: Db, ids: readonly string[], mirrored: readonly CollectionName[]) {
  const { rows: events } = await db.sql<Pick<StoredEvent, 'userId' | 'id' | 'type' | 'data'>>`
    select e._user_id as "userId", e.id, e.type, e.data::text as data from ${db.table('events')} as e
    where e.id = any(${[...ids]}::text[]) order by e._user_id, e.received_at`;
  const now = await databaseTime(db);
  const replayed = events.map(({ userId, id, type, data }) => ({
    userId,
    id,
    rows: mirroredRows(rowsOfEvent(type ?? undefined, data ?? undefined), mirrored),
  }));
  for (const [userId, theirs] of Map.groupBy(replayed, (event) => event.userId)) {
    const rows = theirs.flatMap((event) => event.rows);
    await db.transaction((trx) => addHints(trx, userId, rows, now));
  }
  return replayed;
}

/** The event's rows whose collection is mirrored here. */
function mirroredRows(rows: readonly HintedRow[], mirrored: readonly CollectionName[]): HintedRow[] {
  return rows.filter(({ collection }) => mirrored.includes(collection));
}
