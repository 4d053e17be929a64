import { collection, COLLECTION_NAMES, type CollectionName } from '../../model/collections.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { failureMessage } from '../../db/connection/sql-state.ts';
import type { Operator } from '../../db/roles/operator-log.ts';
import type { WalkTotals } from '../../mirror/scope/walk-end.ts';
import { addTotals, NO_TOTALS, type ReadTotals } from '../../sync/walk-run/walk-totals.ts';
import type { AccountReader } from '../../sync/account/account-reader.ts';
import type { Standing } from '../../sync/reader/account-store.ts';

export interface AccountPassOptions {
  readonly collections: readonly CollectionName[];
  readonly full: boolean;
  /** Who lifts the brake of deletions; with `full` only. */
  readonly acceptDeletions: Operator | false;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** What one pass did of one collection. */
export interface CollectionPass extends WalkTotals, Omit<Standing, 'completeAsOf'> {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly milliseconds: number;
  /** Why it was not read to its end; null: it was. */
  readonly error: string | null;
  /** Rows that a full walk found missing, without a second proof. */
  readonly unproven: number;
  /** As of when everything, deletions included, is mirrored (ISO 8601); null: of no moment yet. */
  readonly completeAsOf: string | null;
  /**
   * Whether `completeAsOf` is at least the pass's beginning less MIRROR_SETTLE, by which replicas may lag; null: the
   * collection was not read, but rows of it were deleted with those of another one.
   */
  readonly complete: boolean | null;
}

/**
 * Reads the collections of one account once, side by side. Parents of chosen collections are read, too, and before
 * them: the items of a list that is not known yet can't be read.
 * @throws LeaseLost, KeyRefused; the signal's reason
 */
export async function passOver(
  reader: AccountReader,
  options: AccountPassOptions,
): Promise<CollectionPass[]> {
  const { clock, signal } = options;
  const collections = withParents(options.collections);
  const neededFrom = reader.completeFromNow();
  const what = options.full ? 'full' : 'current';
  const accept = options.full && options.acceptDeletions;
  const read = async (name: CollectionName): Promise<CollectionPass & Pick<ReadTotals, 'along'>> => {
    const begin = clock.monotonic();
    const { totals, error, unproven } = await reader.read(name, { what, signal, accept });
    const milliseconds = Math.round(clock.monotonic() - begin);
    const message = error === undefined ? null : failureMessage(error);
    return { ...noPass(reader.userId, name, message), ...totals, milliseconds, unproven };
  };
  const readAll = async (names: readonly CollectionName[]): Promise<Awaited<ReturnType<typeof read>>[]> => {
    const ended = await Promise.allSettled(names.map(read));
    const rejected = ended.find((each) => each.status === 'rejected');
    if (rejected !== undefined) throw rejected.reason;
    return ended.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  };
  const parents = await readAll(collections.filter((name) => parentOf(name) === undefined));
  signal.throwIfAborted();
  const reads = [...parents, ...(await readAll(collections.filter((name) => parentOf(name) !== undefined)))];
  await reader.proveComplete(signal);
  // Rows that were deleted along with another collection's count for their own, even if that was not read.
  const { along } = reads.reduce((sum, each) => addTotals(sum, { along: each.along }), NO_TOTALS);
  const unread = [...along.keys()].filter((name) => !collections.includes(name));
  const passes = [...reads, ...unread.map((name) => ({ ...noPass(reader.userId, name, null), along }))];
  // Asked when all are read: the deletion of a list deletes its items, too.
  return Promise.all(
    passes.map(async (each) => {
      const { along: _, ...pass } = each;
      const { completeAsOf, ...standing } = await reader.standingOf(pass.collection);
      const deleted = pass.deleted + (along.get(pass.collection) ?? 0);
      const isRead = collections.includes(pass.collection);
      const complete = isRead ? completeAsOf !== undefined && completeAsOf >= neededFrom : null;
      return { ...pass, ...standing, deleted, completeAsOf: completeAsOf?.toISOString() ?? null, complete };
    }),
  );
}

function parentOf(name: CollectionName): CollectionName | undefined {
  const found = collection(name);
  return found.kind === 'list' ? found.parent?.collection : undefined;
}

function withParents(names: readonly CollectionName[]): readonly CollectionName[] {
  const wanted = new Set([...names, ...names.map(parentOf)]);
  return COLLECTION_NAMES.filter((name) => wanted.has(name));
}

/** A pass that did not take place. @param error why; null: nobody asked for it */
export function noPass(userId: string, collection: CollectionName, error: string | null): CollectionPass {
  const { along: _, ...sums } = NO_TOTALS;
  const pass = { userId, collection, ...sums, milliseconds: 0, error, unproven: 0 };
  return { ...pass, liveRows: 0, held: 0, refused: 0, stale: 0, completeAsOf: null, complete: null };
}
