import type { CollectionName } from '../model/collections.ts';
import type { SyncObserver } from '../sync/observer.ts';

/** What has been read of one collection of one account so far; sums. */
export interface PassProgress {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly pages: number;
  readonly items: number;
  readonly inserted: number;
  readonly updated: number;
}

/** An observer that sums up pages by collection, and tells each new sum. */
export function sumUp(onProgress: (progress: PassProgress) => void): SyncObserver {
  const sums = new Map<string, PassProgress>();
  return {
    pageWritten: ({ scope: { userId, collection }, items, inserted, updated }) => {
      const name = `${userId}/${collection}`;
      const before = sums.get(name) ?? { userId, collection, pages: 0, items: 0, inserted: 0, updated: 0 };
      const sum: PassProgress = {
        userId,
        collection,
        pages: before.pages + 1,
        items: before.items + items,
        inserted: before.inserted + inserted,
        updated: before.updated + updated,
      };
      sums.set(name, sum);
      onProgress(sum);
    },
  };
}
