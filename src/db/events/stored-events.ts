import { databaseTime, type Db } from '../connection/db.ts';
import { sql } from 'kysely';
import type { CollectionName } from '../../model/collections.ts';
import { type HintedRow, rowsOfEvent } from '../../model/hint.ts';
import { addHints } from './hint-store.ts';

/** A row of `events`, as users see it. */
export interface StoredEvent {
  readonly userId: string;
  readonly id: string;
  readonly type: string | null;
  readonly createdAt: Date | null;
  readonly receivedAt: Date;
  /** Of the row that it names. */
  readonly collection: string | null;
  readonly key: string | null;
  /** JSON text with every digit; null where the event has no `data`. */
  readonly data: string | null;
}

/** The events of one account or of all, the last one first. */
export async function listEvents(
  db: Db,
  { limit, userId, type }: { readonly limit: number; readonly userId?: string; readonly type?: string },
): Promise<StoredEvent[]> {
  // By account: an index has each one's last events, however many there are.
  const { rows } = await db.sql<StoredEvent>`
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

/** The event's body as JSON text, as it was delivered: one for each account that has an event of this ID. */
export async function eventTexts(db: Db, id: string): Promise<string[]> {
  const { rows } = await db.sql<{ text: string }>`
    select coalesce(e._verbatim, e._raw::text) as text
    from ${db.stateTable('account')} as a
    join ${db.table('events')} as e on e._user_id = a._user_id
    where e.id = ${id} order by e._user_id`;
  return rows.map(({ text }) => text);
}

/**
 * Replays stored events as if they had just come: the rows that they name are due. Unknown IDs are left out of the
 * result. The caller wakes the owner's process afterwards (wakeups.ts).
 * @param mirrored collections that are mirrored here
 * @returns the events that were taken up again, and the rows that are due to be read for each
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

/** Those of an event's rows whose collection is mirrored here. */
export function mirroredRows(rows: readonly HintedRow[], mirrored: readonly CollectionName[]): HintedRow[] {
  return rows.filter(({ collection }) => mirrored.includes(collection));
}
