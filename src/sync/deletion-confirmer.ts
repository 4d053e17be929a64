import type { Operator } from '../postgres/operator-log.ts';
import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
import { PRIORITY } from '../service/rate-groups.ts';
import type { SuspectScope } from '../mirror/suspect-store.ts';
import type { SuspectKind } from '../model/absence.ts';
import { type ListCollection, type Scope, scopeName } from '../model/collections.ts';
import { KeyRefused } from '../model/errors.ts';
import { isUnknown, NOTHING, type ReadOutcome, type ReadWhole, type WalkResult } from './walk-result.ts';
import { addTotals, NO_TOTALS, type ReadTotals } from '../model/sync-events.ts';
import type { ReadingContext } from './reading-context.ts';
import type { ScopeSession, SessionPool } from './scope-session.ts';
import { confirmRows, readWhole, type ScopeReading } from './read-scope.ts';
import { deleteProvenRows } from './write-step.ts';

/** Scopes whose suspects are read side by side at most. */
const WORKERS = 4;

/**
 * Waited beyond the grace period (ms). When a request was sent is known by the database's clock only up to the time's
 * way to us: the earliest moment counts, which without the margin would be too early for a proof.
 */
const MARGIN_MS = 20;
/** The same where a little was not enough, or where a second try would be expensive. */
const WIDE_MARGIN_MS = 250;

export interface ConfirmOptions {
  readonly signal: AbortSignal;
  /** Who lifts the brake. */
  readonly accept: Operator | false;
}

interface FinishOptions extends ConfirmOptions {
  /** Waits for second proofs; else suspects are left to later readings. */
  readonly patient: boolean;
  /** Takes the turn for one more full walk of a scope. */
  readonly walkTurn: <T>(task: () => Promise<T>) => Promise<T>;
}

/**
 * Second proofs of suspected deletions (docs/design/deletions.md, "Confirming"): waits for the end of the grace
 * period, reads the rows again in the fewest pages, and deletes what is proven then. All scopes are read before
 * anything is deleted or called complete: so one proof of whose data it is, begun after the last request, serves them
 * all.
 */
export class DeletionConfirmer {
  readonly #context: ReadingContext;
  readonly #sessions: SessionPool;
  /**
   * By scope that was read again: when its last suspect was found (ms). Suspects that remain wait for a full walk, or
   * for the next suspect: nothing is learnt from reading them again and again.
   */
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
    if (waiting.length > 0 && !options.patient) return NOTHING;
    await this.#untilReady(lists, waiting, options.signal);
    const parents = new Set([...read.keys(), ...scopes.map(({ scope }) => scope.parent)]);
    const walked = new Map(read);
    const again = await this.#each(lists, [...parents], options, (session) =>
      this.#readAfterWalk(lists, session, walked, options),
    );
    // This also confirms what pages found complete.
    const unproven = await this.#context.source.whyNotProven(options.signal);
    if (unproven !== undefined) return { ...NOTHING, totals: again.totals, error: again.error ?? unproven };
    const left = [...parents].filter((parent) => !again.failed.has(parent));
    const done = await this.#each(lists, left, options, (session, parent) =>
      this.#finishScope(session, walked.get(parent), options),
    );
    const error = again.error ?? done.error;
    if (error === undefined) this.#noteTried(waiting);
    const totals = addTotals(again.totals, done.totals);
    return { ...NOTHING, totals, error, unproven: done.unproven };
  }

  /** Deletes what is proven gone in the collection's scopes, unless the brake blocks it. */
  async deleteProven(lists: ListCollection, options: ConfirmOptions): Promise<ReadOutcome> {
    const scopes = await this.#context.store.suspectScopes(lists.name);
    const parents = scopes.filter(({ proven }) => proven > 0).map(({ scope }) => scope.parent);
    const error = parents.length === 0 ? undefined : await this.#context.source.whyNotProven(options.signal);
    if (error !== undefined) return { ...NOTHING, error };
    return this.#each(lists, parents, options, async (session) => ({
      ...NOTHING,
      totals: await this.#delete(session, options),
    }));
  }

  /**
   * Reads suspects again whose grace period is over: those that polls found, and those that an earlier process left.
   * @returns when (ms from now) there will be more to do; undefined: not before new suspects come
   */
  async confirmDue(
    lists: ListCollection,
    options: ConfirmOptions,
  ): Promise<ReadOutcome & { readonly againMs: number | undefined }> {
    const { store } = this.#context;
    const scopes = (await store.suspectScopes(lists.name)).filter(
      ({ scope, lastSuspectedAt }) =>
        lastSuspectedAt.getTime() > (this.#tried.get(scopeName(scope)) ?? -Infinity),
    );
    const now = (await store.now()).getTime();
    const waits = scopes.map((each) => ({ each, ms: needsReading(each) ? this.#readyAt(each) - now : 0 }));
    const due = waits.filter(({ ms }) => ms <= 0).map(({ each }) => each);
    const later = waits.map(({ ms }) => ms).filter((ms) => ms > 0);
    const parents = due.map(({ scope }) => scope.parent);
    const read = await this.#each(lists, parents, options, (session) =>
      this.#readSuspects(lists, session, options),
    );
    // Also what a stop left, and what the brake blocked: it may let them pass now.
    const deleted = await this.deleteProven(lists, options);
    const error = read.error ?? deleted.error;
    if (error === undefined) this.#noteTried(due);
    const againMs = later.length === 0 ? undefined : Math.min(...later);
    return { ...NOTHING, totals: addTotals(read.totals, deleted.totals), error, againMs };
  }

  /** Reads rows again that seem to be gone: their first proof, if they are. */
  async suspect(lists: ListCollection, keys: readonly string[], signal: AbortSignal): Promise<WalkResult> {
    const scope: Scope = { userId: this.#context.fence.userId, collection: lists.name, parent: '' };
    return this.#sessions.use(scope, lists, (session) =>
      confirmRows(this.#reading(lists, session, { signal, accept: false }), keys),
    );
  }

  /** A reading of the scope, as full walks are read. */
  #reading(
    collection: ListCollection,
    session: ScopeSession,
    { signal, accept }: ConfirmOptions,
  ): ScopeReading {
    return { context: this.#context, collection, session, signal, accept, priority: PRIORITY.FULL };
  }

  /** Reads the scope's suspects again. It deletes nothing, and calls nothing complete. */
  async #readSuspects(
    lists: ListCollection,
    session: ScopeSession,
    options: ConfirmOptions,
  ): Promise<ReadOutcome> {
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
      if (error !== undefined) return { ...NOTHING, totals, error };
      if (outcome === 'full-needed' || outcome === 'interrupted') break;
      const before = new Set(keys);
      keys = (await unproven()).filter((key) => before.has(key));
    }
    return { ...NOTHING, totals };
  }

  /**
   * Everything that one scope's full reading reads after its walk. As `#readSuspects`, it only reads.
   * @param walked whole walks by parent: a second one takes the place of the first
   */
  async #readAfterWalk(
    lists: ListCollection,
    session: ScopeSession,
    walked: Map<string, ReadWhole>,
    options: FinishOptions,
  ): Promise<ReadOutcome> {
    const { store, clock, gracePeriodMs } = this.#context;
    const { scope } = session;
    const { parent } = scope;
    let { totals, error } = await this.#readSuspects(lists, session, options);
    const walkAgain = async (waitMs: number, isRead: (each: SuspectScope) => boolean): Promise<void> => {
      await clock.sleep(waitMs, options.signal);
      const next = await options.walkTurn(() => readWhole(this.#reading(lists, session, options)));
      totals = addTotals(totals, next.totals);
      error = next.error;
      if (next.whole === undefined) walked.delete(parent);
      else walked.set(parent, next.whole);
      if (error !== undefined) return;
      const later = (await store.suspectScopes(lists.name)).filter(
        (each) => each.scope.parent === parent && each.waiting > 0 && isRead(each),
      );
      if (later.length === 0) return;
      await this.#untilReady(lists, later, options.signal);
      const again = await this.#readSuspects(lists, session, options);
      totals = addTotals(totals, again.totals);
      error = again.error;
    };
    // Rows that came too lately to be suspected are old enough after the grace period.
    if (error === undefined && options.patient && walked.get(parent)?.overlooks === true) {
      await walkAgain(gracePeriodMs + WIDE_MARGIN_MS, () => true);
    }
    if (error !== undefined || !walked.has(parent)) return { ...NOTHING, totals, error };
    // In an unordered list it takes a second whole walk: one more is what a full reading may cost. (If the order is
    // trusted by then, that walk suspects by intervals what the first one missed.)
    if ((await store.suspectsOf(scope)).some(({ kind, proven }) => kind === 'pair' && !proven)) {
      // Another reading may have walked meanwhile: its walk and the next one are the pair.
      const ended = session.memory.whole?.ended ?? 0;
      const waitMs = ended + gracePeriodMs - (await store.now()).getTime() + WIDE_MARGIN_MS;
      await walkAgain(Math.max(WIDE_MARGIN_MS, waitMs), needsReading);
    }
    return { ...NOTHING, totals, error };
  }

  /** Once it is proven whose data was read: deletes what the scope lacks, and says whether it is complete. */
  async #finishScope(
    session: ScopeSession,
    read: ReadWhole | undefined,
    options: ConfirmOptions,
  ): Promise<ReadOutcome> {
    const { store, mirror, fence, source, gracePeriodMs } = this.#context;
    const { scope } = session;
    const hasProven = (await store.suspectsOf(scope)).some(({ proven }) => proven);
    const totals = hasProven ? await this.#delete(session, options) : NO_TOTALS;
    if (read === undefined) return { ...NOTHING, totals };
    const left = await store.suspectsOf(scope);
    // A suspect that is younger than the walk counts, too: another reading may have missed what this one missed. None
    // is left, either, where all were forgotten with a key that was refused.
    if (read.conclusive && !read.complete && left.length === 0 && source.trusts(read.began)) {
      const completeAsOf = new Date(read.began.getTime() - gracePeriodMs);
      // A collection of lists is complete as of the earliest of them: that is saved when all are read.
      const collection = scope.parent === '' ? { collection: { completeAsOf } } : {};
      await session.write(() =>
        mirror.endWalk(fence, scope, { scope: { completeAsOf }, ...collection }, session.committed),
      );
    }
    return { ...NOTHING, totals, unproven: left.filter(({ proven }) => !proven).length };
  }

  async #delete(session: ScopeSession, { accept }: ConfirmOptions): Promise<ReadTotals> {
    return addTotals(NO_TOTALS, await session.write(() => deleteProvenRows(this.#context, session, accept)));
  }

  async #each(
    lists: ListCollection,
    parents: readonly string[],
    { signal }: ConfirmOptions,
    task: (session: ScopeSession, parent: string) => Promise<ReadOutcome>,
  ): Promise<ReadOutcome & { readonly failed: ReadonlySet<string> }> {
    let totals = NO_TOTALS;
    let error: Error | undefined;
    let unproven = 0;
    const failed = new Set<string>();
    await forEachConcurrently(parents, WORKERS, async (parent) => {
      signal.throwIfAborted();
      const scope: Scope = { userId: this.#context.fence.userId, collection: lists.name, parent };
      const done = await this.#sessions.use(scope, lists, (session) => task(session, parent));
      if (done.error instanceof KeyRefused) throw done.error;
      totals = addTotals(totals, done.totals);
      unproven += done.unproven;
      error ??= done.error;
      if (done.error !== undefined) failed.add(parent);
    });
    // A stopped reading has no error, but has not been tried.
    signal.throwIfAborted();
    return { ...NOTHING, totals, error, unproven, failed };
  }

  /** When a second reading of the scope's rows may be a proof (ms since the epoch, the database's clock). */
  #readyAt({ lastSuspectedAt }: SuspectScope): number {
    return lastSuspectedAt.getTime() + this.#context.gracePeriodMs + MARGIN_MS;
  }

  /** Waits until all of them may be read again. @throws the signal's reason */
  async #untilReady(
    lists: ListCollection,
    waiting: readonly SuspectScope[],
    signal: AbortSignal,
  ): Promise<void> {
    const { store, clock, observer, fence } = this.#context;
    if (waiting.length === 0) return;
    const readyAt = Math.max(...waiting.map((each) => this.#readyAt(each)));
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

  #noteTried(scopes: readonly SuspectScope[]): void {
    for (const { scope, lastSuspectedAt } of scopes) {
      this.#tried.set(scopeName(scope), lastSuspectedAt.getTime());
    }
  }
}

/** Whether a second reading of the row may prove it gone; for `pair` only two whole walks can. */
function isReadAgain(kind: SuspectKind): boolean {
  return kind !== 'pair';
}

function needsReading({ kinds }: SuspectScope): boolean {
  return kinds.some(isReadAgain);
}
