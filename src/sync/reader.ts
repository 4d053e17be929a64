import type { FreedSlots } from '../budget/store.ts';
import type { RecordFreed } from '../db/budget-store.ts';
import type { Mirror } from '../mirror/mirror.ts';
import type { ChangedTable } from '../mirror/page-write.ts';
import type { Fence } from '../model/fence.ts';
import type { Clock } from '../runtime/clock.ts';
import type { AccountSource } from './account-source.ts';
import type { AccountStore } from './account-store.ts';
import type { SyncObserver } from './observer.ts';

/** What reading an account takes: both sides of the joint, and who is told. */
export interface Reader {
  readonly fence: Fence;
  readonly source: AccountSource;
  readonly mirror: Mirror;
  readonly store: AccountStore;
  readonly observer: Required<SyncObserver>;
  /** Told after a commit that changed rows: for NOTIFY. Must not throw. */
  readonly onChanged: (table: ChangedTable) => void;
  readonly clock: Clock;
}

/**
 * Runs a write that carries the budget's freed slots in its transaction; when it fails they wait for the next one.
 * @param write gets what to do inside the transaction
 */
export async function carryingFreed<T>(
  reader: Reader,
  write: (alsoInTransaction: (trx: Parameters<RecordFreed>[0]) => Promise<void>) => Promise<T>,
): Promise<T> {
  const freed: readonly FreedSlots[] = reader.source.takeFreed();
  try {
    return await write(async (trx) => {
      for (const each of freed) await reader.store.recordFreed(trx, each);
    });
  } catch (error) {
    reader.source.putBack(freed);
    throw error;
  }
}
