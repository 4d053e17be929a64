import type { SuspectScope } from '../../mirror/deletion/stored-suspects.ts';
import type { SuspectKind } from '../../model/absence.ts';
import { type ListCollection, scopeName } from '../../model/collections.ts';
import type { ReadingContext } from '../reader/reading-context.ts';

/**
 * Waited beyond the grace period (ms). When a request was sent is known by the database's clock only up to the time's
 * way to us: the earliest moment counts, which without the margin would be too early for a proof.
 */
const MARGIN_MS = 20;

/** When suspects may be read a second time, and which scopes were read. */
export class DueSuspects {
  readonly #context: ReadingContext;
  /**
   * By scope that was read again: when its last suspect was found (ms). Suspects that remain wait for a full walk, or
   * for the next suspect: nothing is learnt from reading them again and again.
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
    // Asked again after each wait: the database's clock counts, and ours may run faster.
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

/** Whether a second reading of the row may prove it gone; for `pair` only two whole walks can. */
export function isReadAgain(kind: SuspectKind): boolean {
  return kind !== 'pair';
}

export function needsReading({ kinds }: SuspectScope): boolean {
  return kinds.some(isReadAgain);
}
