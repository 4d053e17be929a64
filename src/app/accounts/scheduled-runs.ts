import { databaseTime, type Db } from '../../db/connection/db.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { AccountStore, ScheduledRuns } from '../../sync/reader/account-store.ts';
import type { NextRuns, Schedule } from './next-runs.ts';

/**
 * Which stored next runs have to be changed. One that is earlier than the cron line's next run stays, however long
 * ago it was: it is a misfire. A later one came from another cron line, or from before the database's clock went
 * back: the line's next run replaces it. Where none is stored, the line's is, so that a restart in a first walk
 * forgets no run.
 * @param next the cron lines' next runs of the collection; null: never
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

/** Corrects the account's stored next runs. @throws LeaseLost */
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
