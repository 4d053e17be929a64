import type { Db } from '../../db/connection/db.ts';
import { type ListCollection, parentsOf } from '../../model/collections.ts';
import { leastCompleteAsOf, leastPolledAt } from './scope-store.ts';

/**
 * The least over the lists that are not deleted, and not later than their own collection. Undefined where one of them
 * has no such moment yet.
 */
export interface ListsAsOf {
  /** New and unsettled rows. */
  readonly polledAt: Date | undefined;
  /** Everything, deletions included. */
  readonly completeAsOf: Date | undefined;
}

/** As of when all lists of a collection are mirrored. */
export async function listsAsOf(db: Db, userId: string, lists: ListCollection): Promise<ListsAsOf> {
  const parent = await db.mirror
    .selectFrom('_collections')
    .select(['polled_at', 'complete_as_of'])
    .where('_user_id', '=', userId)
    .where('collection', '=', parentsOf(lists).table)
    .executeTakeFirst();
  const { polledAt, unread } = await leastPolledAt(db, userId, lists.name);
  const { completeAsOf, incomplete } = await leastCompleteAsOf(db, userId, lists.name);
  return {
    polledAt: unread ? undefined : earlier(parent?.polled_at ?? undefined, polledAt),
    completeAsOf: incomplete ? undefined : earlier(parent?.complete_as_of ?? undefined, completeAsOf),
  };
}

/** When the lists themselves are mirrored as of `parents`, and what hangs on them as of `children` (undefined: none). */
function earlier(parents: Date | undefined, children: Date | undefined): Date | undefined {
  return parents === undefined || children === undefined || children > parents ? parents : children;
}
