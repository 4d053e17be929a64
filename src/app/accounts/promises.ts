import type { Db } from '../../db/connection/db.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { AccountStore, Promised } from '../../sync/reader/account-store.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import type { Firings, Schedule } from './firings.ts';

/**
 * Which stored promises have to be changed before they can be kept. What was promised earlier than the cron line fires
 * next is owed, however long ago that was; what lies further in the future was promised by another line, or before the
 * database's clock went back; and there is a promise from the start, so that a restart in a first walk forgets none.
 * @param next when the cron lines have the collection read next; null: never
 */
export function mended(
  names: readonly CollectionName[],
  stored: ReadonlyMap<string, Promised>,
  next: (name: CollectionName) => Firings,
): ReadonlyMap<CollectionName, Firings> {
  const changes = new Map<CollectionName, Firings>();
  for (const name of names) {
    const found = stored.get(name);
    const line = next(name);
    const nextPollAt = earlier(found?.nextPollAt ?? null, line.nextPollAt);
    const nextFullAt = earlier(found?.nextFullAt ?? null, line.nextFullAt);
    const same =
      found !== undefined &&
      found.nextPollAt?.getTime() === nextPollAt?.getTime() &&
      found.nextFullAt?.getTime() === nextFullAt?.getTime();
    if (!same || found.paused) changes.set(name, { nextPollAt, nextFullAt });
  }
  return changes;
}

function earlier(stored: Date | null, next: Date | null): Date | null {
  return stored === null || next === null || next < stored ? next : stored;
}

/** Mends the account's stored promises. @throws LeaseLost */
export async function mendPromises(
  db: Db,
  names: readonly CollectionName[],
  schedule: Schedule,
  store: Pick<AccountStore, 'promised' | 'promise'>,
  userId: string,
): Promise<void> {
  const now = await databaseTime(db);
  const changes = mended(names, await store.promised(), (name) => schedule.after(userId, name, now));
  if (changes.size > 0) await store.promise(changes);
}
