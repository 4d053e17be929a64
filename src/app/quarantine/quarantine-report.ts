import type { CollectionName } from '../../model/collections.ts';

/** What became of the quarantined items of one collection of one account when they were tried again. */
export interface RetriedCollection {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly tried: number;
  /** Written into their table: new rows, changed ones, ones that came back. */
  readonly mirrored: number;
  /** The mirror had the same content already: they have left the quarantine. */
  readonly unchanged: number;
  /** Items that stay in quarantine, by reason, the most frequent first. */
  readonly left: readonly LeftItems[];
  /** Why not all were tried; null: all were. */
  readonly error: string | null;
}

export interface LeftItems {
  readonly reason: string;
  readonly items: number;
}

/** A retry that did not take place. */
export function notRetried(userId: string, collection: CollectionName, error: string): RetriedCollection {
  return { userId, collection, tried: 0, mirrored: 0, unchanged: 0, left: [], error };
}
