import type { Db } from '../connection/db.ts';
import type { CollectionName } from '../../model/collections.ts';

/** A next run at a moment; `too-late`: later than its cron line's next time. */
export type RunState = { readonly state: 'due' | 'too-late'; readonly at: Date } | { readonly state: 'kept' };

export interface CollectionRuns {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly poll: RunState;
  readonly full: RunState;
}

/** The next times of a collection's cron lines; null: it has no such line. */
export interface LatestRuns {
  readonly name: CollectionName;
  readonly nextPollAt: Date | null;
  readonly nextFullAt: Date | null;
}

/** Collections that have a run which is due at `now`, or stored for too late a moment. */
export async function misfires(
  db: Db,
  userIds: readonly string[],
  latest: readonly LatestRuns[],
  now: Date,
): Promise<CollectionRuns[]> {
  const moments = (which: 'nextPollAt' | 'nextFullAt'): (Date | null)[] => latest.map((each) => each[which]);
  const { rows } = await db.sql<{
    userId: string;
    collection: CollectionName;
    pollAt: Date | null;
    fullAt: Date | null;
    pollBy: Date | null;
    fullBy: Date | null;
  }>`
    select c._user_id as "userId", c.collection, c.next_poll_at as "pollAt", c.next_full_at as "fullAt",
      b.poll_by as "pollBy", b.full_by as "fullBy"
    from ${db.table('_collections')} as c
    join unnest(${latest.map(({ name }) => name)}::text[], ${moments('nextPollAt')}::timestamptz[],
      ${moments('nextFullAt')}::timestamptz[]) as b (collection, poll_by, full_by) on b.collection = c.collection
    where c._user_id = any(${[...userIds]}::bigint[])
      and (c.next_poll_at <= ${now} or c.next_full_at <= ${now} or c.next_poll_at > b.poll_by
        or c.next_full_at > b.full_by)`;
  return rows.map(({ userId, collection, pollAt, pollBy, fullAt, fullBy }) => ({
    userId,
    collection,
    poll: stateAt(pollAt, pollBy, now),
    full: stateAt(fullAt, fullBy, now),
  }));
}

function stateAt(at: Date | null, by: Date | null, now: Date): RunState {
  if (at === null) return { state: 'kept' };
  if (at <= now) return { state: 'due', at };
  return by !== null && at > by ? { state: 'too-late', at } : { state: 'kept' };
}
