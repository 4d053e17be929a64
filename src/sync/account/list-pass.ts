import type { StoredScope } from '../../mirror/scope/scope-store.ts';
import type { ListCollection } from '../../model/collections.ts';
import type { AccountStore, DueScopesBounds } from '../reader/account-store.ts';

export interface ListPassOptions {
  readonly lists: ListCollection;
  /** Scopes read since then are left out, unless they came due again. */
  readonly since: Date;
  /** Only scopes that a change made due, not all. */
  readonly dueOnly: boolean;
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
  /** From then on the pass ends: the next one begins with what was unread longest. */
  readonly until: Date | undefined;
  /**
   * What goes first in its first batch; in the next ones the two take turns, as they have to in successive passes. So
   * lists that change again and again take half of the readings at most, however short passes are.
   */
  readonly first: DueScopesBounds['first'];
  readonly signal: AbortSignal;
}

/** Scopes that are chosen at once: few, so that one that changes meanwhile comes soon. */
const BATCH = 10;

/**
 * Reads scopes: those that changed, and those unread longest (docs/design/plan.md, "Lists").
 * @param read reads one scope; false: it failed and is not tried again in this pass
 * @returns how many it read
 * @throws what `read` throws, when all reads under way have ended
 */
export async function passOverScopes(
  store: Pick<AccountStore, 'dueScopes'>,
  options: ListPassOptions,
  read: (scope: StoredScope) => Promise<boolean>,
): Promise<number> {
  const { lists, fully, dueOnly, until } = options;
  // Nothing was read before 1970.
  const notReadSince = dueOnly ? new Date(0) : options.since;
  const active = new Set<string>();
  /** Not read again in this pass: they failed, or were read twice (what changes meanwhile is due after it). */
  const spent = new Set<string>();
  const reads = new Map<string, number>();
  let count = 0;
  let failure: { readonly error: unknown } | undefined;
  let { first } = options;
  let queue: StoredScope[] = [];
  let fetching: Promise<void> | undefined;

  const fetch = async (): Promise<void> => {
    queue = await store.dueScopes(lists, {
      notReadSince,
      fully,
      except: [...active, ...spent],
      limit: BATCH,
      now: options.now(),
      first: dueOnly ? 'changed' : first,
      resting: dueOnly ? 'out' : 'last',
    });
    first = first === 'changed' ? 'unread' : 'changed';
  };
  const isOver = (): boolean => until !== undefined && options.now() >= until;
  const next = async (): Promise<StoredScope | undefined> => {
    if (queue.length === 0 && !isOver()) {
      fetching ??= fetch().finally(() => {
        fetching = undefined;
      });
      await fetching;
    }
    if (isOver()) return undefined;
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
  return count;
}
