import type { CollectionName } from '../collections.ts';

/** Why rows that look deleted are still there, the causes first for which a person has to do something. */
export const DELETION_CAUSES = [
  // The brake blocks what is proven: so many at once look like a fault of the service.
  'brake',
  // Postgres refuses to delete them: something of the database's owner keeps them.
  'refused',
  // An item without a usable ID may be any of them: pages with such an item prove nothing.
  'item_without_id',
  // One reading has missed them; a second one, MIRROR_SETTLE later, decides.
  'second_proof',
  // Read again, and neither seen nor proven: the next full walk decides.
  'full_walk',
  // The full walk that missed them is under way: they may have moved to where it comes later.
  'walk_under_way',
  // The list has no known order: only two whole walks that read the same prove anything.
  'equal_walks',
  // They came back, or turned back, so soon that the page may be stale: seen once more, they are believed.
  'second_sighting',
  // Proven, and on their way.
  'proven',
] as const;
export type DeletionCause = (typeof DELETION_CAUSES)[number];

/** Rows of one collection that look deleted (`data_quality` counts them), and wait for one cause. */
export interface WaitingDeletion {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly cause: DeletionCause;
  /** How many rows wait, of how many live ones. */
  readonly rows: number;
  readonly liveRows: number;
  /** When the first of them was missed. */
  readonly since: string;
  /** Why they wait, without a full stop. */
  readonly what: string;
  /** What happens without anybody. */
  readonly byItself: string;
  /** When that is due, as far as it is known. */
  readonly due: string | null;
  /** What a person can do; null: nothing is to be done. */
  readonly remedy: string | null;
  /** Some of their keys, as in `changes`. */
  readonly examples: readonly string[];
}
