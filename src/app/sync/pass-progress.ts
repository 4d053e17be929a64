import type { CollectionName } from '../../model/collections.ts';
import type { SyncObserver } from '../../sync/reader/observer.ts';

/** What has been read of one collection of one account so far; sums. */
export interface PassProgress {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly pages: number;
  readonly items: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  /** Rows that are read again when the grace period is over, and for how long (ms) they wait; null: none wait. */
  readonly doubts: { readonly rows: number; readonly milliseconds: number } | null;
}

/** An observer that sums up pages by account and collection, and reports each new sum. */
export function sumUp(onProgress: (progress: PassProgress) => void): SyncObserver {
  const sums = new Map<string, PassProgress>();
  const add = (
    { userId, collection }: Pick<PassProgress, 'userId' | 'collection'>,
    more: (before: PassProgress) => Partial<PassProgress>,
  ): void => {
    const name = `${userId}/${collection}`;
    const before = sums.get(name) ?? { ...NOTHING, userId, collection };
    const sum = { ...before, ...more(before) };
    sums.set(name, sum);
    onProgress(sum);
  };
  return {
    pageWritten: ({ scope, items, inserted, updated }) =>
      add(scope, (before) => ({
        pages: before.pages + 1,
        items: before.items + items,
        inserted: before.inserted + inserted,
        updated: before.updated + updated,
        doubts: null,
      })),
    suspectsWait: ({ userId, collection, rows, milliseconds }) =>
      add({ userId, collection }, () => ({ doubts: { rows, milliseconds } })),
    deletionsJudged: ({ scope, deleted }) =>
      add(scope, (before) => ({ deleted: before.deleted + deleted, doubts: null })),
  };
}

const NOTHING = { pages: 0, items: 0, inserted: 0, updated: 0, deleted: 0, doubts: null } as const;
