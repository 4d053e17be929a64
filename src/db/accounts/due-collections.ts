import { type RawBuilder, sql } from 'kysely';
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

/** A row of `dueRuns`. */
export interface DueRunsRow {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly pollAt: Date | null;
  readonly fullAt: Date | null;
  readonly pollBy: Date | null;
  readonly fullBy: Date | null;
}

/** A query of collections that have a run which is due at `now`, or stored for too late a moment. */
export function dueRuns(
  db: Db,
  userIds: readonly string[],
  latest: readonly LatestRuns[],
  now: Date,
): RawBuilder<DueRunsRow> {
  const moments = (which: 'nextPollAt' | 'nextFullAt'): (Date | null)[] => latest.map((each) => each[which]);
  return sql<DueRunsRow>`
    select c._user_id as "userId", c.collection, c.next_poll_at as "pollAt", c.next_full_at as "fullAt",
      b.poll_by as "pollBy", b.full_by as "fullBy"
    from ${db.table('_collections')} as c
    -- Not as one unnest() in FROM: where many accounts are asked for, Citus 13.2 gives its columns each other's types.
    join (
      select unnest(${latest.map(({ name }) => name)}::text[]) as collection,
        unnest(${moments('nextPollAt')}::timestamptz[]) as poll_by,
        unnest(${moments('nextFullAt')}::timestamptz[]) as full_by) as b on b.collection = c.collection
    where c._user_id = any(${[...userIds]}::bigint[])
      and (c.next_poll_at <= ${now} or c.next_full_at <= ${now} or c.next_poll_at > b.poll_by
        or c.next_full_at > b.full_by)`;
}

/** A query of the next moment after `now` at which a run of these accounts is due; null: there is none. */
export function nextRun(db: Db, userIds: readonly string[], now: Date): RawBuilder<{ at: Date | null }> {
  return sql<{ at: Date | null }>`
    select least(min(c.next_poll_at) filter (where c.next_poll_at > ${now}),
      min(c.next_full_at) filter (where c.next_full_at > ${now})) as at
    from ${db.table('_collections')} as c where c._user_id = any(${[...userIds]}::bigint[])`;
}

export function runsOf({ userId, collection, ...row }: DueRunsRow, now: Date): CollectionRuns {
  return {
    userId,
    collection,
    poll: stateAt(row.pollAt, row.pollBy, now),
    full: stateAt(row.fullAt, row.fullBy, now),
  };
}

function stateAt(at: Date | null, by: Date | null, now: Date): RunState {
  if (at === null) return { state: 'kept' };
  if (at <= now) return { state: 'due', at };
  return by !== null && at > by ? { state: 'too-late', at } : { state: 'kept' };
}
