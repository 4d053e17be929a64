/** Second proofs: waits for the grace period, rereads suspects, has proven rows deleted. */

import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
import type { SuspectScope } from '../mirror/suspect-store.ts';
import type { SuspectKind } from '../model/absence.ts';
import { type ListCollection, scopeName } from '../model/collections.ts';
import { KeyRefused } from '../model/errors.ts';
import { addTotals, NO_TOTALS, type ReadTotals } from '../model/sync-events.ts';
import { PRIORITY } from '../service/rate-groups.ts';
import { confirmRows, readWhole } from './read-scope.ts';
import type { ReadingContext } from './reading-context.ts';
import { type ScopeSession, type SessionPool } from './scope-session.ts';
import { deleteProvenRows, type ReadWhole } from './walk-proofs.ts';
import {
  EMPTY_OUTCOME,
  isUnknown,
  joinOutcomes,
  type ReadOutcome,
  type ScopeReading,
  type WalkResult,
} from './walk-result.ts';

/** Most scopes whose suspects are read side by side. */
const WORKERS = 4;
/** Added to the grace period, ms: times by the database's clock are only known to within a query's duration. */
const MARGIN_MS = 20;
/** The same for a second try, and where a second try would be expensive. */
const WIDE_MARGIN_MS = 250;

export type ConfirmOptions = Pick<ScopeReading, 'signal' | 'accept'>;

type FinishOptions = ConfirmOptions & {
  /** Waits for second proofs; otherwise suspects are left to later readings. */
  readonly patient: boolean;
  /** Takes the turn for one more full walk of a scope. */
  readonly walkTurn: <T>(task: () => Promise<T>) => Promise<T>;
};

/**
 * Second proofs of suspected deletions (docs/design/deletions.md, "Confirming"): waits for the end of the grace
 * period, reads the rows again in the fewest pages, and deletes what is proven then. All scopes are read before
 * anything is deleted or called complete, so that one proof of whose data it is serves them all.
 */
export class DeletionConfirmer {
  readonly #context: ReadingContext;
  readonly #sessions: SessionPool;
  /** By scope that was read again: time of its last suspect, ms. It is read again only for a later one. */
  readonly #tried = new Map<string, number>();

  constructor(context: ReadingContext, sessions: SessionPool) {
    this.#context = context;
    this.#sessions = sessions;
  }

  /**
   * Ends a full reading; waits once for all scopes of the collection.
   * @param read by parent, the scopes that were read whole and are not known to be complete yet
   */
  async finish(
    lists: ListCollection,
    read: ReadonlyMap<string, ReadWhole>,
    options: FinishOptions,
  ): Promise<ReadOutcome> {
    const scopes = await this.#context.store.suspectScopes(lists.name);
    const waiting = scopes.filter((each) => each.waiting > 0);
    if (waiting.length > 0 && !options.patient) return EMPTY_OUTCOME;
    await this.#untilReady(lists, waiting, options.signal);
    const parents = new Set([...read.keys(), ...scopes.map(({ scope }) => scope.parent)]);
    const walked = new Map(read);
    const again = await this.#each(lists, parents, options.signal, async (session) => {
      const outcome = await this.#readAfterWalk(lists, session, walked, options);
      if (outcome.error !== undefined) parents.delete(session.scope.parent);
      return outcome;
    });
    // This also confirms what pages found complete.
    const unproven = await this.#context.source.whyNotProven(options.signal);
    if (unproven !== undefined) return { ...again, error: again.error ?? unproven };
    const done = await this.#each(lists, parents, options.signal, (session) =>
      this.#finishScope(session, walked.get(session.scope.parent), options),
    );
    const outcome = joinOutcomes(again, done);
    if (outcome.error === undefined) this.#noteTried(waiting);
    return outcome;
  }

  /** Deletes what is proven gone in the collection's scopes, unless the brake blocks it. */
  async deleteProven(lists: ListCollection, options: ConfirmOptions): Promise<ReadOutcome> {
    const scopes = await this.#context.store.suspectScopes(lists.name);
    const parents = scopes.filter(({ proven }) => proven > 0).map(({ scope }) => scope.parent);
    const error = parents.length === 0 ? undefined : await this.#context.source.whyNotProven(options.signal);
    if (error !== undefined) return { ...EMPTY_OUTCOME, error };
    return this.#each(lists, parents, options.signal, async (session) => ({
      ...EMPTY_OUTCOME,
      totals: await this.#delete(session, options),
    }));
  }

  /**
   * Reads suspects again whose grace period is over: those that polls found, and those that an earlier process left.
   * @returns when (ms from now) there will be more to do; undefined: not before new suspects come
   */
  async confirmDue(
    lists: ListCollection,
    signal: AbortSignal,
  ): Promise<ReadOutcome & { readonly againMs: number | undefined }> {
    const { store } = this.#context;
    const scopes = (await store.suspectScopes(lists.name)).filter(
      ({ scope, lastSuspectedAt }) => lastSuspectedAt.getTime() > (this.#tried.get(scopeName(scope)) ?? -Infinity),
    );
    const now = (await store.now()).getTime();
    const waits = scopes.map((each) => ({ each, ms: needsReading(each) ? this.#readyAt(each) - now : 0 }));
    const due = waits.filter(({ ms }) => ms <= 0).map(({ each }) => each);
    const later = waits.map(({ ms }) => ms).filter((ms) => ms > 0);
    const parents = due.map(({ scope }) => scope.parent);
    const read = await this.#each(lists, parents, signal, (session) => this.#readSuspects(lists, session, { signal }));
    // Also what a stop left, and what the brake blocked: it may let them pass now.
    const outcome = joinOutcomes(read, await this.deleteProven(lists, { signal }));
    if (outcome.error === undefined) this.#noteTried(due);
    return { ...outcome, againMs: later.length === 0 ? undefined : Math.min(...later) };
  }

  /** Reads rows again that seem to be gone: their first proof, if they are. */
  suspect(lists: ListCollection, keys: readonly string[], signal: AbortSignal): Promise<WalkResult> {
    return this.#sessions.use(lists, '', (session) => confirmRows(this.#reading(lists, session, { signal }), keys));
  }

  /** A reading of the scope, as full walks are read. */
  #reading(
    collection: ListCollection,
    session: ScopeSession,
    { signal, accept = false }: ConfirmOptions,
  ): ScopeReading {
    return { context: this.#context, collection, session, signal, accept, priority: PRIORITY.FULL };
  }

  /** Reads the scope's suspects again. It deletes nothing, and calls nothing complete. */
  async #readSuspects(lists: ListCollection, session: ScopeSession, options: ConfirmOptions): Promise<ReadOutcome> {
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
      const result = await confirmRows(this.#reading(lists, session, options), keys);
      totals = addTotals(totals, result.totals);
      const { outcome, error } = result;
      // The list's own row says whether it is gone (read-lists.ts).
      if (scope.parent !== '' && isUnknown(result)) break;
      if (error !== undefined) return { ...EMPTY_OUTCOME, totals, error };
      if (outcome === 'full-needed' || outcome === 'interrupted') break;
      const before = new Set(keys);
      keys = (await unproven()).filter((key) => before.has(key));
    }
    return { ...EMPTY_OUTCOME, totals };
  }

  /** All that one scope's full reading reads after its walk; it only reads. @param walked whole walks by parent */
  async #readAfterWalk(
    lists: ListCollection,
    session: ScopeSession,
    walked: Map<string, ReadWhole>,
    options: FinishOptions,
  ): Promise<ReadOutcome> {
    const { store, clock, gracePeriodMs } = this.#context;
    const { scope } = session;
    const { parent } = scope;
    let outcome = await this.#readSuspects(lists, session, options);
    const walkAgain = async (waitMs: number, isRead: (each: SuspectScope) => boolean): Promise<void> => {
      await clock.sleep(waitMs, options.signal);
      const next = await options.walkTurn(() => readWhole(this.#reading(lists, session, options)));
      outcome = joinOutcomes(outcome, { ...EMPTY_OUTCOME, totals: next.totals, error: next.error });
      if (next.whole === undefined) walked.delete(parent);
      else walked.set(parent, next.whole);
      if (outcome.error !== undefined) return;
      const later = (await store.suspectScopes(lists.name)).filter(
        (each) => each.scope.parent === parent && each.waiting > 0 && isRead(each),
      );
      if (later.length === 0) return;
      await this.#untilReady(lists, later, options.signal);
      outcome = joinOutcomes(outcome, await this.#readSuspects(lists, session, options));
    };
    // Rows that came too recently to be suspected are old enough after the grace period.
    if (outcome.error === undefined && options.patient && walked.get(parent)?.overlooks === true) {
      await walkAgain(gracePeriodMs + WIDE_MARGIN_MS, () => true);
    }
    if (outcome.error !== undefined || !walked.has(parent)) return outcome;
    // In an unordered list it takes a second whole walk: one more is what a full reading may cost. (If the order is
    // trusted by then, that walk suspects by intervals what the first one missed.)
    if ((await store.suspectsOf(scope)).some(({ kind, proven }) => kind === 'pair' && !proven)) {
      // Another reading may have walked meanwhile: its walk and the next one are the pair.
      const ended = session.memory.whole?.ended ?? 0;
      const waitMs = ended + gracePeriodMs - (await store.now()).getTime() + WIDE_MARGIN_MS;
      await walkAgain(Math.max(WIDE_MARGIN_MS, waitMs), needsReading);
    }
    return outcome;
  }

  /** Deletes what the scope lacks, and says whether it is complete. Called once it is proven whose data was read. */
  async #finishScope(
    session: ScopeSession,
    read: ReadWhole | undefined,
    options: ConfirmOptions,
  ): Promise<ReadOutcome> {
    const { store, mirror, fence, source, gracePeriodMs } = this.#context;
    const { scope } = session;
    const hasProven = (await store.suspectsOf(scope)).some(({ proven }) => proven);
    const totals = hasProven ? await this.#delete(session, options) : NO_TOTALS;
    if (read === undefined) return { ...EMPTY_OUTCOME, totals };
    const left = await store.suspectsOf(scope);
    // A suspect that is younger than the walk counts, too: another reading may have missed what this one missed. A
    // refused key forgets all suspects, so `trusts` is asked as well.
    if (read.conclusive && !read.complete && left.length === 0 && source.trusts(read.began)) {
      const completeAsOf = new Date(read.began.getTime() - gracePeriodMs);
      // A collection of lists is complete as of the earliest of them: that is saved when all are read.
      const collection = scope.parent === '' ? { collection: { completeAsOf } } : {};
      const change = { scope: { completeAsOf }, ...collection };
      await session.writes.run(() => mirror.endWalk(fence, scope, change, session.committed));
    }
    return { ...EMPTY_OUTCOME, totals, unproven: left.filter(({ proven }) => !proven).length };
  }

  async #delete(session: ScopeSession, { accept = false }: ConfirmOptions): Promise<ReadTotals> {
    const deleted = await session.writes.run(() => deleteProvenRows(this.#context, session, accept));
    return addTotals(NO_TOTALS, deleted);
  }

  async #each(
    lists: ListCollection,
    parents: Iterable<string>,
    signal: AbortSignal,
    task: (session: ScopeSession) => Promise<ReadOutcome>,
  ): Promise<ReadOutcome> {
    let outcome: ReadOutcome = EMPTY_OUTCOME;
    await forEachConcurrently([...parents], WORKERS, async (parent) => {
      signal.throwIfAborted();
      const done = await this.#sessions.use(lists, parent, task);
      if (done.error instanceof KeyRefused) throw done.error;
      outcome = joinOutcomes(outcome, done);
    });
    // A stopped reading has no error, but has not been tried.
    signal.throwIfAborted();
    return outcome;
  }

  /** When a second reading of the scope's rows may be a proof (ms since the epoch, the database's clock). */
  #readyAt({ lastSuspectedAt }: SuspectScope): number {
    return lastSuspectedAt.getTime() + this.#context.gracePeriodMs + MARGIN_MS;
  }

  /** Waits until all of them may be read again. @throws the signal's reason */
  async #untilReady(lists: ListCollection, waiting: readonly SuspectScope[], signal: AbortSignal): Promise<void> {
    const { store, clock, observer, fence } = this.#context;
    if (waiting.length === 0) return;
    const readyAt = Math.max(...waiting.map((each) => this.#readyAt(each)));
    const rows = waiting.reduce((sum, each) => sum + each.waiting, 0);
    const left = async (): Promise<number> => readyAt - (await store.now()).getTime();
    let milliseconds = await left();
    if (milliseconds > 0) {
      observer.suspectsWait({ userId: fence.userId, collection: lists.name, rows, milliseconds });
    }
    // Checked again after each wait: the database's clock counts, and ours may run faster.
    for (; milliseconds > 0; milliseconds = await left()) await clock.sleep(milliseconds, signal);
    signal.throwIfAborted();
  }

  #noteTried(scopes: readonly SuspectScope[]): void {
    for (const { scope, lastSuspectedAt } of scopes) {
      this.#tried.set(scopeName(scope), lastSuspectedAt.getTime());
    }
  }
}

/** Whether reading the row again may prove it gone; for `pair` only two whole walks can. */
function isReadAgain(kind: SuspectKind): boolean {
  return kind !== 'pair';
}

function needsReading({ kinds }: SuspectScope): boolean {
  return kinds.some(isReadAgain);
}
