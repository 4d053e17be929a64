import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
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
/** Lists that are read side by side at most. The budget decides the pace; this only hides latency. */
const WORKERS = 4;

/**
 * Reads scopes, a batch at a time: those that changed, and those unread longest (docs/design/plan.md, "Lists").
 * @param read reads one scope; false: it failed and is not tried again in this pass
 * @returns how many it read
 * @throws what `read` throws, when all reads under way have ended
 */
export async function passOverScopes(
  store: Pick<AccountStore, 'dueScopes'>,
  options: ListPassOptions,
  read: (scope: StoredScope) => Promise<boolean>,
): Promise<number> {
  const { lists, fully, dueOnly, crowded, now, until, signal } = options;
  // Nothing was read before 1970.
  const notReadSince = dueOnly ? new Date(0) : options.since;
  /** Not read again in this pass: they failed, or were read twice (what changes meanwhile is due after it). */
  const spent = new Set<string>();
  const once = new Set<string>();
  let count = 0;
  let { first } = options;
  const isOver = (): boolean => until !== undefined && now() >= until;
  while (!isOver()) {
    const batch = await store.dueScopes(lists, {
      notReadSince,
      fully,
      except: [...spent],
      limit: BATCH,
      now: now(),
      first: dueOnly ? 'changed' : first,
      resting: dueOnly ? 'out' : 'last',
    });
    if (batch.length === 0) break;
    first = first === 'changed' ? 'unread' : 'changed';
    await forEachConcurrently(batch, crowded() ? 1 : WORKERS, async (stored) => {
      signal.throwIfAborted();
      if (isOver()) return;
      const { parent } = stored.scope;
      count += 1;
      const well = await read(stored);
      if (!well || once.has(parent)) spent.add(parent);
      once.add(parent);
    });
  }
  signal.throwIfAborted();
  return count;
}
