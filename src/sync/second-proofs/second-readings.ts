import { PRIORITY } from '../../budget/priorities.ts';
import type { SuspectScope } from '../../mirror/deletion/stored-suspects.ts';
import type { ListCollection } from '../../model/collections.ts';
import { confirmRows } from '../walk-run/read-scope.ts';
import { readWhole } from '../walk-run/read-whole.ts';
import type { ReadingContext } from '../reader/reading-context.ts';
import { isReadAgain, needsReading, type DueSuspects } from './due-suspects.ts';
import type { ScopeSession } from '../scope/scope-session.ts';
import { isUnknown, type ReadWhole } from '../walk-run/walk-result.ts';
import { addTotals, NO_TOTALS, type ReadTotals } from '../walk-run/walk-totals.ts';

export interface ConfirmOptions {
  readonly signal: AbortSignal;
  /** Lifts the brake. */
  readonly accept: boolean;
}

export interface FinishOptions extends ConfirmOptions {
  /** Waits for second proofs; else suspects are left to later readings. */
  readonly patient: boolean;
  /** Takes the turn for one more full walk of a scope. */
  readonly walkTurn: <T>(task: () => Promise<T>) => Promise<T>;
}

/** What became of a collection's suspects. */
export interface ConfirmResult {
  readonly totals: ReadTotals;
  /** The first failure; other scopes were finished all the same. */
  readonly error: Error | undefined;
  /** Rows that a full reading found missing, and that no second one has confirmed: they wait for the next. */
  readonly unproven: number;
}

/** Waited beyond the grace period (ms) where a little was not enough, or where a second try would be expensive. */
const WIDE_MARGIN_MS = 250;

/** Reads suspects again. It deletes nothing, and calls nothing complete. */
export class SecondReadings {
  readonly #context: ReadingContext;
  readonly #due: DueSuspects;

  constructor(context: ReadingContext, due: DueSuspects) {
    this.#context = context;
    this.#due = due;
  }

  /** Reads the scope's suspects again. */
  async ofSuspects(
    lists: ListCollection,
    session: ScopeSession,
    options: ConfirmOptions,
  ): Promise<ConfirmResult> {
    const { store, clock } = this.#context;
    const { scope } = session;
    // A row that an unfinished full walk missed in its place may have moved: the rest of that walk may see it.
    const unfinished = session.fullWalk !== undefined;
    const unproven = async (): Promise<string[]> =>
      (await store.suspectsOf(scope))
        .filter(({ kind, proven }) => !proven && isReadAgain(kind) && !(unfinished && kind === 'interval'))
        .map(({ key }) => key);
    let totals = NO_TOTALS;
    let keys = await unproven();
    for (let tries = 0; keys.length > 0 && tries < 2; tries += 1) {
      if (tries > 0) await clock.sleep(WIDE_MARGIN_MS, options.signal);
      const result = await confirmRows(readingOf(this.#context, lists, session, options), keys);
      totals = addTotals(totals, result.totals);
      // The list's own row says whether it is gone (unknown-lists.ts).
      if (scope.parent !== '' && isUnknown(result)) break;
      if (result.error !== undefined) return { totals, error: result.error, unproven: 0 };
      if (result.outcome === 'full-needed' || result.outcome === 'interrupted') break;
      const before = new Set(keys);
      keys = (await unproven()).filter((key) => before.has(key));
    }
    return { totals, error: undefined, unproven: 0 };
  }

  /**
   * Everything that one scope's full reading reads after its walk.
   * @param walked whole walks by parent: a second one takes the place of the first
   */
  async afterWalk(
    lists: ListCollection,
    session: ScopeSession,
    walked: Map<string, ReadWhole>,
    options: FinishOptions,
  ): Promise<ConfirmResult> {
    const { store, clock, gracePeriodMs } = this.#context;
    const { scope } = session;
    const { parent } = scope;
    const confirmed = await this.ofSuspects(lists, session, options);
    if (confirmed.error !== undefined) return confirmed;
    let { totals } = confirmed;
    let read = walked.get(parent);
    let left = await store.suspectsOf(scope);
    const walkAgain = async (waitMs: number): Promise<Error | undefined> => {
      await clock.sleep(waitMs, options.signal);
      const next = await options.walkTurn(() => readWhole(readingOf(this.#context, lists, session, options)));
      totals = addTotals(totals, next.totals);
      read = next.whole;
      if (read === undefined) walked.delete(parent);
      else walked.set(parent, read);
      return next.error;
    };
    const confirmAgain = async (wait: (each: SuspectScope) => boolean): Promise<Error | undefined> => {
      const later = (await store.suspectScopes(lists.name)).filter(
        (each) => each.scope.parent === scope.parent && each.waiting > 0 && wait(each),
      );
      if (later.length > 0) {
        await this.#due.untilReady(lists, later, options.signal);
        const again = await this.ofSuspects(lists, session, options);
        totals = addTotals(totals, again.totals);
        if (again.error !== undefined) return again.error;
      }
      left = await store.suspectsOf(scope);
      return undefined;
    };
    // Rows that came too lately to be suspected are old enough after the grace period.
    if (options.patient && read?.overlooks === true) {
      const error = (await walkAgain(gracePeriodMs + WIDE_MARGIN_MS)) ?? (await confirmAgain(() => true));
      if (error !== undefined) return { totals, error, unproven: 0 };
    }
    // In an unordered list it takes a second whole walk: one more is what a full reading may cost. (If the order is
    // trusted by then, that walk suspects by intervals what the first one missed.)
    if (read !== undefined && left.some(({ kind, proven }) => kind === 'pair' && !proven)) {
      // Another reading may have walked meanwhile: its walk and the next one are the pair.
      const ended = session.memory.whole?.ended ?? 0;
      const waitMs = ended + gracePeriodMs - (await store.now()).getTime() + WIDE_MARGIN_MS;
      const error = (await walkAgain(Math.max(WIDE_MARGIN_MS, waitMs))) ?? (await confirmAgain(needsReading));
      if (error !== undefined) return { totals, error, unproven: 0 };
    }
    return { totals, error: undefined, unproven: 0 };
  }
}

/** A reading of the scope, as full walks are read. */
export function readingOf(
  context: ReadingContext,
  lists: ListCollection,
  session: ScopeSession,
  { signal, accept }: ConfirmOptions,
) {
  return { context, collection: lists, session, signal, accept, priority: PRIORITY.FULL };
}
