import type { Db } from '../../db/connection/db.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { AccountStore, ScheduledRuns } from '../../sync/reader/account-store.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import type { NextRuns, Schedule } from './next-runs.ts';

/**
 * Which stored promises have to be changed before they can be kept. What was promised earlier than the cron line fires
 * next is owed, however long ago that was; what lies further in the future was promised by another line, or before the
 * database's clock went back; and there is a promise from the start, so that a restart in a first walk forgets none.
 * @param next when the cron lines have the collection read next; null: never
 */
export function correctedRuns(
  names: readonly CollectionName[],
  stored: ReadonlyMap<string, ScheduledRuns>,
  next: (name: CollectionName) => NextRuns,
): ReadonlyMap<CollectionName, NextRuns> {
  const changes = new Map<CollectionName, NextRuns>();
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
export async function correctRuns(
  db: Db,
  names: readonly CollectionName[],
  schedule: Schedule,
  store: Pick<AccountStore, 'scheduledRuns' | 'scheduleRuns'>,
  userId: string,
): Promise<void> {
  const now = await databaseTime(db);
  const changes = correctedRuns(names, await store.scheduledRuns(), (name) =>
    schedule.after(userId, name, now),
  );
  if (changes.size > 0) await store.scheduleRuns(changes);
}
