import type { AccountWork } from '../../db/status/stored-activity.ts';
import { TransportError } from '../../model/errors.ts';
import type { DeletionsJudged, PageWritten } from '../../model/sync-events.ts';
import type { Exchange } from '../../api/api.ts';
import type { SyncObserver } from '../../sync/reader/observer.ts';

/** Counts what this process does for each account, until that is taken to be stored. */
export class ActivityCount implements SyncObserver {
  #work = new Map<string, AccountWork>();

  pageWritten({
    scope: { userId },
    inserted,
    updated,
  }: Pick<PageWritten, 'scope' | 'inserted' | 'updated'>): void {
    this.#add({ userId, changes: inserted + updated, requests: 0 });
  }

  deletionsJudged({ scope: { userId }, deleted }: Pick<DeletionsJudged, 'scope' | 'deleted'>): void {
    this.#add({ userId, changes: deleted, requests: 0 });
  }

  /** A request for the account has ended; one that never left this machine does not count. */
  requestEnded(userId: string, { error }: Pick<Exchange, 'error'>): void {
    if (error instanceof TransportError && !error.sent) return;
    this.#add({ userId, changes: 0, requests: 1 });
  }

  /** @param owned accounts that are there even if nothing was done for them */
  take(owned: readonly string[]): readonly AccountWork[] {
    for (const userId of owned) this.#add({ userId, changes: 0, requests: 0 });
    const taken = [...this.#work.values()];
    this.#work = new Map();
    return taken;
  }

  /** What was taken could not be stored. */
  putBack(taken: readonly AccountWork[]): void {
    for (const each of taken) this.#add(each);
  }

  #add({ userId, changes, requests }: AccountWork): void {
    const before = this.#work.get(userId);
    this.#work.set(userId, {
      userId,
      changes: changes + (before?.changes ?? 0),
      requests: requests + (before?.requests ?? 0),
    });
  }
}
