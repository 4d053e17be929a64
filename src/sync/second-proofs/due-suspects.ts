import type { SuspectScope } from '../../mirror/deletion/suspects.ts';
import type { SuspectKind } from '../../model/absence.ts';
import { type ListCollection, scopeName } from '../../model/collections.ts';
import type { ReadingContext } from '../reader/reading-context.ts';

/**
 * Waited beyond the settle time (ms). When a request was sent is told by the database's clock no better than the way
 * of its time to us allows; that it was sent earlier is then assumed, and it would be too early for a proof.
 */
const MARGIN_MS = 20;

/** When rows in doubt may be read a second time, and which were. */
export class DueSuspects {
  readonly #context: ReadingContext;
  /**
   * Of scopes that were read again: the youngest doubt that there was then (ms). What is still in doubt waits for a
   * full walk, or for the next doubt: reading it again and again would tell nothing.
   */
  readonly #tried = new Map<string, number>();

  constructor(context: ReadingContext) {
    this.#context = context;
  }

  /** When a second reading of the scope's rows may be a proof (ms since the epoch, the database's clock). */
  readyAt({ lastSuspectedAt }: SuspectScope): number {
    return lastSuspectedAt.getTime() + this.#context.gracePeriodMs + MARGIN_MS;
  }

  /** Waits until all of them may be read again. @throws the signal's reason */
  async untilReady(
    lists: ListCollection,
    waiting: readonly SuspectScope[],
    signal: AbortSignal,
  ): Promise<void> {
    const { store, clock, observer, fence } = this.#context;
    if (waiting.length === 0) return;
    const readyAt = Math.max(...waiting.map((each) => this.readyAt(each)));
    const rows = waiting.reduce((sum, each) => sum + each.waiting, 0);
    const left = async (): Promise<number> => readyAt - (await store.now()).getTime();
    let milliseconds = await left();
    if (milliseconds > 0) {
      observer.suspectsWait({ userId: fence.userId, collection: lists.name, rows, milliseconds });
    }
    // Asked again after each wait: the database's clock decides, and ours may run faster.
    for (; milliseconds > 0; milliseconds = await left()) await clock.sleep(milliseconds, signal);
    signal.throwIfAborted();
  }

  noteTried({ scope, lastSuspectedAt }: SuspectScope): void {
    this.#tried.set(scopeName(scope), lastSuspectedAt.getTime());
  }

  isTried({ scope, lastSuspectedAt }: SuspectScope): boolean {
    return lastSuspectedAt.getTime() <= (this.#tried.get(scopeName(scope)) ?? Number.NEGATIVE_INFINITY);
  }
}

/** Whether a second reading of the row itself may tell: all but what only two whole walks can. */
export function isReadAgain(kind: SuspectKind): boolean {
  return kind !== 'pair';
}

export function needsReading({ kinds }: SuspectScope): boolean {
  return kinds.some(isReadAgain);
}
