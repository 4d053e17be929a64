import type { Clock } from '@research-mirror/runtime/clock';
import type { KeyStore } from '@research-mirror/runtime/kept-keys';
import type { Mirror } from '../mirror/mirror.ts';
import type { ChangedTable } from '../mirror/page-record.ts';
import type {
  DeletionsJudged,
  PageWritten,
  SuspectsWait,
  WalkEnded,
  WalkStarted,
} from '../model/sync-events.ts';
import type { Fence } from '../postgres/fenced.ts';
import type { RecordFreed } from '../service/budget-store.ts';
import type { FreedSlots } from '../service/slot-store.ts';
import type { AccountSource } from './account-source.ts';
import type { AccountStore } from './account-store.ts';

/** What functions that read an account need: service, mirror, and who gets their events. */
export interface ReadingContext {
  readonly fence: Fence;
  readonly source: AccountSource;
  readonly mirror: Mirror;
  readonly store: AccountStore;
  readonly observer: Required<SyncObserver>;
  /** Called after a commit that changed rows: for NOTIFY. Must not throw. */
  readonly onChanged: (table: ChangedTable) => void;
  readonly clock: Clock;
  /** Where long walks remember what they saw. */
  readonly keys: KeyStore;
  /** `MIRROR_SETTLE`, milliseconds: least time between the two proofs of a deletion. */
  readonly gracePeriodMs: number;
}

/**
 * Runs a write that stores the budget's freed slots in its transaction. If it fails, or leaves them out, they wait
 * for the next one.
 * @param write gets what to do inside the transaction; does it again where it tries again
 */
export async function carryingFreed<T>(
  reader: Pick<ReadingContext, 'source' | 'store'>,
  write: (alsoInTransaction: (trx: Parameters<RecordFreed>[0]) => Promise<void>) => Promise<T>,
): Promise<T> {
  const freed: readonly FreedSlots[] = reader.source.takeFreed();
  let carried = false;
  try {
    return await write(async (trx) => {
      // Once a key turned out to be another account's, nothing is written of earlier answers.
      reader.source.assertOwn();
      carried = true;
      for (const each of freed) await reader.store.recordFreed(trx, each);
    });
  } catch (error) {
    carried = false;
    throw error;
  } finally {
    if (!carried) reader.source.putBack(freed);
  }
}

/** Gets the events of readings. Logs, metrics and progress are made of these alone. */
export interface SyncObserver {
  walkStarted?(event: WalkStarted): void;
  pageWritten?(event: PageWritten): void;
  walkEnded?(event: WalkEnded): void;
  /** A reading waits until suspects may be read again: until the grace period is over. */
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
