import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import type { ServiceConfig } from '../config/config.ts';
import { collection, COLLECTION_NAMES, type CollectionName } from '../model/collections.ts';
import { refusesKey } from '../model/errors.ts';
import { addTotals, NO_TOTALS, type ReadTotals } from '../model/sync-events.ts';
import type { Operator } from '../postgres/operator-log.ts';
import { failureMessage } from '../postgres/sql-state.ts';
import type { AccountReader } from '../sync/account-reader.ts';
import type { SyncObserver } from '../sync/reading-context.ts';
import type { AccountCommand, CollectionProgress, CommandArguments } from './account-command.ts';
import { type CommandRun, runCommand, type RunOptions } from './account-command.ts';
import type { Account } from './account.ts';

/** Result of a pass for one collection. */
export type CollectionPass = Readonly<ReturnType<typeof noPass>>;

/**
 * Reads the collections of one account once, concurrently. Parents of chosen collections are read first: the items of
 * an unknown list can't be read.
 * @throws LeaseLost, KeyRefused; the signal's reason
 */
export async function passOver(
  reader: AccountReader,
  options: {
    readonly collections: readonly CollectionName[];
    readonly full: boolean;
    /** The operator who lifts the brake of deletions; only with `full`. */
    readonly acceptDeletions: Operator | false;
    readonly signal: AbortSignal;
    readonly clock: Clock;
  },
): Promise<CollectionPass[]> {
  const { clock, signal } = options;
  const wanted = new Set([...options.collections, ...options.collections.map(parentOf)]);
  const collections = COLLECTION_NAMES.filter((name) => wanted.has(name));
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
  const readAll = async (names: readonly CollectionName[]) => {
    const all = names.map(read);
    // None is left under way after an error.
    await Promise.allSettled(all);
    return Promise.all(all);
  };
  const parents = await readAll(collections.filter((name) => parentOf(name) === undefined));
  signal.throwIfAborted();
  const reads = [...parents, ...(await readAll(collections.filter((name) => parentOf(name) !== undefined)))];
  await reader.proveComplete(signal);
  // Rows deleted along with another collection's count for their own collection, even if it was not read.
  const { along } = reads.reduce((sum, each) => addTotals(sum, { along: each.along }), NO_TOTALS);
  const unread = [...along.keys()].filter((name) => !collections.includes(name));
  const passes = [...reads, ...unread.map((name) => ({ ...noPass(reader.userId, name, null), along }))];
  // Asked once all are read, since deleting a list deletes its items.
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

/** A pass that was not made. @param error why it was not read completely; null: it was, or was not requested */
function noPass(userId: string, collection: CollectionName, error: string | null) {
  const { along: _, ...sums } = NO_TOTALS;
  const standing = { liveRows: 0, held: 0, refused: 0, stale: 0 };
  return {
    userId,
    collection,
    ...sums,
    milliseconds: 0,
    error,
    /** Rows that a full walk found missing, without a second proof. */
    unproven: 0,
    ...standing,
    /** The collection is complete as of then, deletions included (ISO 8601); null: never yet. */
    completeAsOf: null as string | null,
    /**
     * Whether `completeAsOf` is at least the pass's start less MIRROR_SETTLE, by which replicas may lag; null: the
     * collection was not read, but rows were deleted with those of another one.
     */
    complete: null as boolean | null,
  };
}

/** Progress of one collection of one account, as sums. */
export interface PassProgress
  extends CollectionProgress, Readonly<Record<'pages' | 'items' | 'inserted' | 'updated' | 'deleted', number>> {
  /** Rows that wait for a second reading, and how long, ms; null: none wait. */
  readonly doubts: { readonly rows: number; readonly milliseconds: number } | null;
}

/** An observer that sums up pages by account and collection, and reports each new sum. */
export function sumUp(onProgress: (progress: PassProgress) => void): SyncObserver {
  const sums = new Map<string, PassProgress>();
  const zero = { pages: 0, items: 0, inserted: 0, updated: 0, deleted: 0, doubts: null };
  const add = (
    { userId, collection }: CollectionProgress,
    more: (before: PassProgress) => Partial<PassProgress>,
  ): void => {
    const name = `${userId}/${collection}`;
    const before = sums.get(name) ?? { ...zero, userId, collection };
    const sum = { ...before, doubts: null, ...more(before) };
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
      })),
    suspectsWait: ({ rows, milliseconds, ...of }) => add(of, () => ({ doubts: { rows, milliseconds } })),
    deletionsJudged: ({ scope, deleted }) => add(scope, (before) => ({ deleted: before.deleted + deleted })),
  };
}

interface SyncArguments extends CommandArguments {
  readonly full: boolean;
  readonly acceptDeletions: boolean;
}

export const SYNC: AccountCommand<SyncArguments, CollectionPass, PassProgress> = {
  name: 'sync',
  notDone: noPass,
  work: syncAccount,
};

export type SyncReport = Awaited<ReturnType<typeof runSync>>;

/** One pass over the collections; committed pages stay. @throws errors that concern all accounts; the signal's reason */
export async function runSync(config: ServiceConfig, options: RunOptions<PassProgress>, given: SyncArguments) {
  const { results, unknownKeys } = await runCommand(config, options, SYNC, given);
  /** Requests sent to read the collections, without pings, and the number of those answered with 429. */
  const requests = results.reduce((sum, each) => sum + each.requests, 0);
  const rateLimited = results.reduce((sum, each) => sum + each.rateLimited, 0);
  return { collections: results, unknownKeys, requests, rateLimited };
}

async function syncAccount(
  { reader, mirror, store, fence }: Account,
  given: SyncArguments,
  { context: { observers, clock }, askedBy, isDaemon, signal, onProgress }: CommandRun<PassProgress>,
): Promise<CollectionPass[]> {
  const sum = sumUp((each) => {
    if (each.userId === fence.userId) onProgress(each);
  });
  const observer: SyncObserver = {
    ...sum,
    // The daemon's own polls go on beside a full pass: their pages do not count.
    pageWritten: (page) => {
      if (!isDaemon || !given.full || page.kind === 'full' || page.kind === 'single') sum.pageWritten?.(page);
    },
  };
  observers.push(observer);
  try {
    const acceptDeletions = given.acceptDeletions && askedBy;
    const passes = await passOver(reader, { ...given, acceptDeletions, signal, clock });
    // Fills new columns before the command ends.
    while (await mirror.backfill(fence)) signal.throwIfAborted();
    if (!isDaemon) await store.saveState('active', null);
    return passes;
  } catch (error) {
    // In a daemon, the account's loops store it.
    if (!isDaemon && refusesKey(error)) await store.saveState('stopped', messageOf(error));
    throw error;
  } finally {
    observers.splice(observers.indexOf(observer), 1);
  }
}
