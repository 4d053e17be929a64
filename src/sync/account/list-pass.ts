import type { StoredScope } from '../../mirror/scope/scope-store.ts';
import type { ListCollection } from '../../model/collections.ts';
import { LONGEST_MS } from '../../plan/change-rate.ts';
import { listsAtOnce, MOST_CHOSEN } from '../../plan/next-reading.ts';
import type { AccountStore, DueScopesBounds } from '../reader/account-store.ts';

export interface ListPassOptions {
  readonly lists: ListCollection;
  /** Scopes read since then are left out, unless they came due again. */
  readonly since: Date;
  /** Only scopes that a change made due, not all. */
  readonly dueOnly: boolean;
  /** Which changes count. */
  readonly announced: DueScopesBounds['announced'];
  /** Every scope is walked fully: a poll since then does not count. */
  readonly fully: boolean;
  /** How many are read side by side at most; the next is chosen when one of them is done. */
  readonly workers: number;
  /**
   * Requests of the account wait for slots. Then more than one worker hides no latency: it would only take slots from
   * the account's other walks, with which lists take turns.
   */
  readonly crowded: () => boolean;
  /** By the database's clock. */
  readonly now: () => Date;
  /** From then on the pass ends, unless a scope is new: the next one begins with the greatest need. */
  readonly until: Date | undefined;
  /** How many scopes the collection has; asked once, where they are more than `MOST_CHOSEN` and `until` is given. */
  readonly count: () => Promise<number>;
  /**
   * The last pass ended before it had read all. Then one that needs it more than those left over is read a second time
   * before them: of many lists, a busy one would otherwise wait for its turn once a run, however often it changes.
   */
  readonly again: boolean;
  /** Of the next batch: what goes first where many have changed and many were not read for too long. */
  readonly first: () => DueScopesBounds['first'];
  readonly signal: AbortSignal;
}

/**
 * Scopes that no change made due, and that a pass over due ones reads nevertheless: those unread for too long, where
 * the pass keeps runs of the cron line waiting. Nothing was read before 1970: without a line there are none.
 */
function unreadSince({ since, until }: Pick<ListPassOptions, 'since' | 'until'>): Date {
  return new Date(until === undefined ? 0 : since.getTime() - LONGEST_MS);
}

/**
 * Reads scopes in the order in which they need it (docs/design/plan.md, "Lists").
 * @param read reads one scope; false: it failed and is not tried again in this pass
 * @throws what `read` throws, when all reads under way have ended
 */
export async function passOverScopes(
  store: Pick<AccountStore, 'dueScopes'>,
  options: ListPassOptions,
  read: (scope: StoredScope) => Promise<boolean>,
): Promise<{ readonly read: number; readonly leftOver: boolean }> {
  const { lists, fully, announced } = options;
  const notReadSince = options.dueOnly ? unreadSince(options) : options.since;
  const resting: DueScopesBounds['resting'] = options.dueOnly ? 'out' : 'last';
  const active = new Set<string>();
  /** Not read again in this pass: they failed, or were read twice (what changes meanwhile is due after it). */
  const spent = new Set<string>();
  const reads = new Map<string, number>();
  let count = 0;
  let leftOver = false;
  let failure: { readonly error: unknown } | undefined;
  let queue: StoredScope[] = [];
  let size: number | undefined;
  let fetching: Promise<void> | undefined;

  const fetch = async (): Promise<void> => {
    const except = [...active, ...spent];
    const order = { now: options.now(), first: options.first() };
    const limit = size ?? MOST_CHOSEN;
    const again = options.again && size !== undefined && !options.dueOnly && !fully;
    const which = { notReadSince, fully, except, again, resting, announced, limit };
    queue = await store.dueScopes(lists, { ...which, ...order });
    // Where all are read in any case, their order is worth no more queries.
    if (options.until === undefined || size !== undefined || queue.length < MOST_CHOSEN) return;
    size = listsAtOnce(await options.count());
    queue.length = size;
  };
  const isOver = (stored: StoredScope | undefined): boolean => {
    if (options.until === undefined || options.now() < options.until || stored === undefined) return false;
    // A new one that fails again and again is not new for ever.
    return options.dueOnly || stored.lastReadAt !== undefined || stored.failures > 0;
  };
  const next = async (): Promise<StoredScope | undefined> => {
    if (queue.length === 0) {
      fetching ??= fetch().finally(() => {
        fetching = undefined;
      });
      await fetching;
    }
    if (isOver(queue[0])) {
      leftOver = true;
      return undefined;
    }
    const stored = queue.shift();
    // In the same turn as it leaves the queue: the next fetch must not get it again.
    if (stored !== undefined) active.add(stored.scope.parent);
    return stored;
  };
  // Counted by hand: a worker that leaves is gone in the same turn, so that one of several always stays.
  let hired = 0;
  const workers = new Set<Promise<void>>();
  const stopped = (): boolean => failure !== undefined || options.signal.aborted;
  const work = async (): Promise<void> => {
    try {
      while (!stopped()) {
        const stored = await next();
        if (stored === undefined) return;
        const { parent } = stored.scope;
        try {
          count += 1;
          const well = await read(stored);
          const times = (reads.get(parent) ?? 0) + 1;
          reads.set(parent, times);
          if (!well || times > 1) spent.add(parent);
        } finally {
          active.delete(parent);
        }
        if (hired > 1 && options.crowded()) return;
        hire();
      }
    } catch (error) {
      failure ??= { error };
    } finally {
      hired -= 1;
    }
  };
  const hire = (): void => {
    for (let some = hired; some < options.workers && (some === 0 || !options.crowded()); some += 1) {
      hired += 1;
      const worker: Promise<void> = work().finally(() => workers.delete(worker));
      workers.add(worker);
    }
  };
  hire();
  while (workers.size > 0) await Promise.all(workers);
  if (failure !== undefined) throw failure.error;
  options.signal.throwIfAborted();
  return { read: count, leftOver };
}
