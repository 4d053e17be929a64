import type { Db } from '../connection/db.ts';
import type { CollectionName } from '../../model/collections.ts';

/** A promise, as it stands at a moment; `too-late`: no cron line promises that. */
export type RunState = { readonly state: 'due' | 'too-late'; readonly at: Date } | { readonly state: 'kept' };

export interface CollectionRuns {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly poll: RunState;
  readonly full: RunState;
}

/** The latest moments that a collection's cron lines promise now; null: none. */
export interface LatestRuns {
  readonly name: CollectionName;
  readonly nextPollAt: Date | null;
  readonly nextFullAt: Date | null;
}

/** Collections of which something is due at `now`, or promised for a moment that is too late. */
export async function misfires(
  db: Db,
  userIds: readonly string[],
  latest: readonly LatestRuns[],
  now: Date,
): Promise<CollectionRuns[]> {
  const moments = (which: 'nextPollAt' | 'nextFullAt'): (Date | null)[] => latest.map((each) => each[which]);
  const { rows } = await db.sql<{
    _user_id: string;
    collection: CollectionName;
    next_poll_at: Date | null;
    next_full_at: Date | null;
    poll_by: Date | null;
    full_by: Date | null;
  }>`
    select c._user_id, c.collection, c.next_poll_at, c.next_full_at, b.poll_by, b.full_by
    from ${db.table('_collections')} as c
    join unnest(${latest.map(({ name }) => name)}::text[], ${moments('nextPollAt')}::timestamptz[],
      ${moments('nextFullAt')}::timestamptz[]) as b (collection, poll_by, full_by) on b.collection = c.collection
    where c._user_id = any(${[...userIds]}::bigint[])
      and (c.next_poll_at <= ${now} or c.next_full_at <= ${now} or c.next_poll_at > b.poll_by
        or c.next_full_at > b.full_by)`;
  return rows.map((row) => ({
    userId: row._user_id,
    collection: row.collection,
    poll: stateAt(row.next_poll_at, row.poll_by, now),
    full: stateAt(row.next_full_at, row.full_by, now),
  }));
}

function stateAt(at: Date | null, by: Date | null, now: Date): RunState {
  if (at === null) return { state: 'kept' };
  if (at <= now) return { state: 'due', at };
  return by !== null && at > by ? { state: 'too-late', at } : { state: 'kept' };
}
