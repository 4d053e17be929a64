import type { Clock } from '@research-mirror/runtime/clock';
import type { KeyStore } from '@research-mirror/runtime/kept-keys';
import type { Mirror } from '../mirror/mirror.ts';
import type { PageRecord } from '../mirror/page-record.ts';
import type { TableChange } from '../postgres/notifications.ts';
import type { DeletionsJudged, PageWritten, SuspectsWait, WalkEnded, WalkStarted } from '../model/sync-events.ts';
import type { Fence } from '../postgres/fenced.ts';
import type { AccountSource } from './account-source.ts';
import type { AccountStore } from './account-store.ts';

/** What functions that read an account need. */
export interface ReadingContext {
  readonly fence: Fence;
  readonly source: AccountSource;
  readonly mirror: Mirror;
  readonly store: AccountStore;
  readonly observer: Required<SyncObserver>;
  /** Called after a commit that changed rows: for NOTIFY. Must not throw. */
  readonly onChanged: (table: TableChange) => void;
  readonly clock: Clock;
  /** Where long walks remember what they saw. */
  readonly keys: KeyStore;
  /** `MIRROR_SETTLE`, milliseconds: least time between the two proofs of a deletion. */
  readonly gracePeriodMs: number;
}

/**
 * Runs a write that stores the budget's freed slots in its transaction. If it fails, or leaves them out, they wait
 * for the next one.
 * @param write runs its argument inside the transaction, once per attempt
 */
export async function carryingFreed<T>(
  { source, store }: ReadingContext,
  write: (alsoInTransaction: PageRecord['alsoInTransaction']) => Promise<T>,
): Promise<T> {
  const freed = source.takeFreed();
  let carried = false;
  try {
    return await write(async (trx) => {
      // Once a key turned out to be another account's, nothing is written of earlier answers.
      source.assertOwn();
      carried = true;
      for (const each of freed) await store.recordFreed(trx, each);
    });
  } catch (error) {
    carried = false;
    throw error;
  } finally {
    if (!carried) source.putBack(freed);
  }
}

/** Gets the events of readings: all that logs, metrics and progress need. */
export interface SyncObserver {
  walkStarted?(event: WalkStarted): void;
  pageWritten?(event: PageWritten): void;
  walkEnded?(event: WalkEnded): void;
  /** A reading waits for the end of the grace period, to read suspects again. */
  suspectsWait?(event: SuspectsWait): void;
  /** Proven deletions were carried out, or blocked by the brake. */
  deletionsJudged?(event: DeletionsJudged): void;
}

/** Passes every event on to each of `observers`. */
export function observeAll(observers: readonly SyncObserver[]): Required<SyncObserver> {
  return {
    walkStarted: (event) => observers.forEach((each) => each.walkStarted?.(event)),
    pageWritten: (event) => observers.forEach((each) => each.pageWritten?.(event)),
    walkEnded: (event) => observers.forEach((each) => each.walkEnded?.(event)),
    suspectsWait: (event) => observers.forEach((each) => each.suspectsWait?.(event)),
    deletionsJudged: (event) => observers.forEach((each) => each.deletionsJudged?.(event)),
  };
}
