import { PRIORITY } from '../budget/priorities.ts';
import type { ScopeInDoubt } from '../mirror/deletion/candidates.ts';
import type { DoubtKind } from '../model/absence.ts';
import { type ListCollection, type Scope, scopeName } from '../model/collections.ts';
import { KeyRefused, MirrorError, RequestRefused } from '../model/errors.ts';
import { applyDeletions } from './apply-deletions.ts';
import { confirmRows } from './read-scope.ts';
import { readWhole } from './read-whole.ts';
import type { Reader } from './reader.ts';
import type { ScopeSession } from './scope-session.ts';
import type { SessionPool } from './session-pool.ts';
import { sideBySide } from './side-by-side.ts';
import type { ReadWhole, WalkResult } from './walk-result.ts';
import { addTotals, NO_TOTALS, type ReadTotals } from './walk-totals.ts';

export interface SettleOptions {
  readonly signal: AbortSignal;
  /** Lifts the brake. */
  readonly accept: boolean;
}

export interface FinishOptions extends SettleOptions {
  /** Waits for second proofs; else what is in doubt is left to later readings. */
  readonly patient: boolean;
  /** Takes the turn for one more full walk of a scope. */
  readonly walkTurn: <T>(task: () => Promise<T>) => Promise<T>;
}

/** What became of the doubts of a collection. */
export interface Settled {
  readonly totals: ReadTotals;
  /** The first failure; other scopes were settled all the same. */
  readonly error: Error | undefined;
  /** Rows that a full reading found missing, and of which no second one told: they wait for the next. */
  readonly unproven: number;
}

/**
 * Waited beyond the settle time (ms). When a request was sent is told by the database's clock no better than the way
 * of its time to us allows; that it was sent earlier is then assumed, and it would be too early for a proof.
 */
const MARGIN_MS = 20;
/** The same where that was not enough, or where a second try would be dear. */
const WIDE_MARGIN_MS = 250;
/** Scopes that are settled side by side at most. */
const WORKERS = 4;

/**
 * Second observations of rows in doubt (design 4): waits until the settle time after the first ones is over, reads
 * the rows again in the fewest pages, and has deleted what is proven then. All scopes are read before anything is
 * deleted or called complete: one proof of whose data it was, which begins after the last request, serves them all.
 */
export class DoubtSettler {
  readonly #reader: Reader;
  readonly #sessions: SessionPool;
  /**
   * Of scopes that were read again: the youngest doubt that there was then (ms). What is still in doubt waits for a
   * full walk, or for the next doubt: reading it again and again would tell nothing.
   */
  readonly #tried = new Map<string, number>();

  constructor(reader: Reader, sessions: SessionPool) {
    this.#reader = reader;
    this.#sessions = sessions;
  }

  /**
   * Ends a full reading: all scopes of the collection are waited for together, whatever their number.
   * @param read the scopes that were read whole and are not known to be complete yet
   */
  async finish(
    lists: ListCollection,
    read: ReadonlyMap<string, ReadWhole>,
    options: FinishOptions,
  ): Promise<Settled> {
    const { store } = this.#reader;
    const inDoubt = await store.scopesInDoubt(lists.name);
    const waiting = inDoubt.filter((each) => each.waiting > 0);
    if (waiting.length > 0 && !options.patient) return { totals: NO_TOTALS, error: undefined, unproven: 0 };
    await this.#untilRipe(lists, waiting, options.signal);
    const parents = new Set([...read.keys(), ...inDoubt.map(({ scope }) => scope.parent)]);
    const walked = new Map(read);
    const again = await this.#each(lists, [...parents], options, (session, parent) =>
      this.#readScopeAgain(lists, session, walked, parent, options),
    );
    // What pages said of being complete waits for it, too.
    const unproven = await this.#whyNotProven(options);
    if (unproven !== undefined) return { ...again, error: again.error ?? unproven, unproven: 0 };
    const left = [...parents].filter((parent) => !again.failed.has(parent));
    const done = await this.#each(lists, left, options, (session, parent) =>
      this.#finishScope(session, walked.get(parent), options),
    );
    const settled = {
      totals: addTotals(again.totals, done.totals),
      error: again.error ?? done.error,
      unproven: done.unproven,
    };
    if (settled.error === undefined) for (const each of waiting) this.#noteTried(each);
    return settled;
  }

  /** Deletes what is proven gone in the collection's scopes, unless the brake holds it. */
  async deleteProven(lists: ListCollection, options: SettleOptions): Promise<Settled> {
    const inDoubt = await this.#reader.store.scopesInDoubt(lists.name);
    const parents = inDoubt.filter(({ proven }) => proven > 0).map(({ scope }) => scope.parent);
    const error = parents.length === 0 ? undefined : await this.#whyNotProven(options);
    if (error !== undefined) return { totals: NO_TOTALS, error, unproven: 0 };
    return this.#each(lists, parents, options, async (session) => ({
      totals: addTotals(NO_TOTALS, await this.#delete(session, options)),
      error: undefined,
      unproven: 0,
    }));
  }

  /**
   * Settles what is ripe now: doubts of polls, and those that an earlier process left.
   * @returns when (ms from now) there will be more to do; undefined: not before new doubts come
   */
  async settleRipe(
    lists: ListCollection,
    options: SettleOptions,
  ): Promise<Settled & { readonly againMs: number | undefined }> {
    const inDoubt = (await this.#reader.store.scopesInDoubt(lists.name)).filter(
      (each) => !this.#isTried(each),
    );
    const now = (await this.#reader.store.now()).getTime();
    const waits = inDoubt.map((each) => ({ each, ms: needsReading(each) ? this.#readyAt(each) - now : 0 }));
    const ripe = waits.filter(({ ms }) => ms <= 0).map(({ each }) => each);
    const later = waits.map(({ ms }) => ms).filter((ms) => ms > 0);
    const read = await this.#each(
      lists,
      ripe.map(({ scope }) => scope.parent),
      options,
      (session) => this.#again(lists, session, options),
    );
    // What a stop left, and what the brake held: it may let them go now.
    const deleted = await this.deleteProven(lists, options);
    const error = read.error ?? deleted.error;
    if (error === undefined) for (const each of ripe) this.#noteTried(each);
    return {
      totals: addTotals(read.totals, deleted.totals),
      error,
      unproven: 0,
      againMs: later.length === 0 ? undefined : Math.min(...later),
    };
  }

  /** Reads rows again of which something else says that they are gone: first proofs, where they are. */
  async suspect(lists: ListCollection, keys: readonly string[], signal: AbortSignal): Promise<WalkResult> {
    const scope: Scope = { userId: this.#reader.fence.userId, collection: lists.name, parent: '' };
    return this.#sessions.use(scope, lists, (session) =>
      confirmRows(this.#reading(lists, session, { signal, accept: false }), keys),
    );
  }

  /**
   * Everything of one scope's full reading that is read after its walk.
   * @param walked whole walks by scope: a second one takes the place of the first
   */
  async #readScopeAgain(
    lists: ListCollection,
    session: ScopeSession,
    walked: Map<string, ReadWhole>,
    parent: string,
    options: FinishOptions,
  ): Promise<Settled> {
    const { store, clock, settleMs } = this.#reader;
    const { scope } = session;
    const confirmed = await this.#again(lists, session, options);
    if (confirmed.error !== undefined) return confirmed;
    let { totals } = confirmed;
    let read = walked.get(parent);
    let left = await store.candidatesOf(scope);
    const walkAgain = async (waitMs: number): Promise<Error | undefined> => {
      await clock.sleep(waitMs, options.signal);
      const next = await options.walkTurn(() => readWhole(this.#reading(lists, session, options)));
      totals = addTotals(totals, next.totals);
      read = next.whole;
      if (read === undefined) walked.delete(parent);
      else walked.set(parent, read);
      return next.error;
    };
    const confirmAgain = async (wait: (each: ScopeInDoubt) => boolean): Promise<Error | undefined> => {
      const later = (await store.scopesInDoubt(lists.name)).filter(
        (each) => each.scope.parent === scope.parent && each.waiting > 0 && wait(each),
      );
      if (later.length > 0) {
        await this.#untilRipe(lists, later, options.signal);
        const again = await this.#again(lists, session, options);
        totals = addTotals(totals, again.totals);
        if (again.error !== undefined) return again.error;
      }
      left = await store.candidatesOf(scope);
      return undefined;
    };
    // What came too lately to be doubted is old enough when the settle time is over.
    if (options.patient && read?.overlooks === true) {
      const error = (await walkAgain(settleMs + WIDE_MARGIN_MS)) ?? (await confirmAgain(() => true));
      if (error !== undefined) return { totals, error, unproven: 0 };
    }
    // In an unordered list a second whole walk tells, and one more is what a full reading may cost. (Where the order came
    // to be trusted meanwhile, that walk doubts by intervals what the first one missed.)
    if (read !== undefined && left.some(({ kind, proven }) => kind === 'pair' && !proven)) {
      // Another reading may have walked meanwhile: the pair is made of its walk and the next one.
      const ended = session.memory.whole?.ended ?? 0;
      const waitMs = ended + settleMs - (await store.now()).getTime() + WIDE_MARGIN_MS;
      const error = (await walkAgain(Math.max(WIDE_MARGIN_MS, waitMs))) ?? (await confirmAgain(needsReading));
      if (error !== undefined) return { totals, error, unproven: 0 };
    }
    return { totals, error: undefined, unproven: 0 };
  }

  /** What follows for a scope from all that was read of it, once it is proven whose data that is. */
  async #finishScope(
    session: ScopeSession,
    read: ReadWhole | undefined,
    options: SettleOptions,
  ): Promise<Settled> {
    const { store } = this.#reader;
    const { scope } = session;
    const held = (await store.candidatesOf(scope)).some(({ proven }) => proven);
    const totals = held ? addTotals(NO_TOTALS, await this.#delete(session, options)) : NO_TOTALS;
    if (read === undefined) return { totals, error: undefined, unproven: 0 };
    const left = await store.candidatesOf(scope);
    // A doubt that is younger than the walk counts too: another reading may have raised anew what this one missed.
    if (read.clean && !read.complete && left.length === 0) {
      await this.#saveComplete(session, new Date(read.began.getTime() - this.#reader.settleMs));
    }
    return { totals, error: undefined, unproven: left.filter(({ proven }) => !proven).length };
  }

  /** Reads the scope's rows in doubt again. */
  async #again(lists: ListCollection, session: ScopeSession, options: SettleOptions): Promise<Settled> {
    const { store, clock } = this.#reader;
    const { scope } = session;
    // A row that an unfinished full walk missed in its place may have moved: the rest of that walk finds out.
    const unfinished = session.fullWalk !== undefined;
    const unproven = async (): Promise<string[]> =>
      (await store.candidatesOf(scope))
        .filter(({ kind, proven }) => !proven && isReadAgain(kind) && !(unfinished && kind === 'interval'))
        .map(({ key }) => key);
    let totals = NO_TOTALS;
    let keys = await unproven();
    for (let tries = 0; keys.length > 0 && tries < 2; tries += 1) {
      if (tries > 0) await clock.sleep(WIDE_MARGIN_MS, options.signal);
      const result = await confirmRows(this.#reading(lists, session, options), keys);
      totals = addTotals(totals, result.totals);
      if (result.error !== undefined) return { totals, error: result.error, unproven: 0 };
      if (result.outcome === 'full-needed' || result.outcome === 'interrupted') break;
      const before = new Set(keys);
      keys = (await unproven()).filter((key) => before.has(key));
    }
    return { totals, error: undefined, unproven: 0 };
  }

  /** Proves whose data was read, by what is asked after the last of it. @throws KeyRefused, LeaseLost; the stop's reason */
  async #whyNotProven({ signal }: SettleOptions): Promise<Error | undefined> {
    try {
      const proven = await this.#reader.source.proveAll({ signal });
      return proven
        ? undefined
        : new RequestRefused('an API key was refused before it was proven whose data it read', 401);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof MirrorError) || error.remedy === 'stop') throw error;
      return error;
    }
  }

  async #delete(
    session: ScopeSession,
    { accept }: SettleOptions,
  ): Promise<Pick<ReadTotals, 'deleted' | 'along'>> {
    const { deleted, along } = await session.write(() => applyDeletions(this.#reader, session, accept));
    return { deleted, along };
  }

  async #each(
    lists: ListCollection,
    parents: readonly string[],
    { signal }: SettleOptions,
    task: (session: ScopeSession, parent: string) => Promise<Settled>,
  ): Promise<Settled & { readonly failed: ReadonlySet<string> }> {
    let totals = NO_TOTALS;
    let error: Error | undefined;
    let unproven = 0;
    const failed = new Set<string>();
    await sideBySide(parents, WORKERS, async (parent) => {
      signal.throwIfAborted();
      const scope: Scope = { userId: this.#reader.fence.userId, collection: lists.name, parent };
      const settled = await this.#sessions.use(scope, lists, (session) => task(session, parent));
      if (settled.error instanceof KeyRefused) throw settled.error;
      totals = addTotals(totals, settled.totals);
      unproven += settled.unproven;
      error ??= settled.error;
      if (settled.error !== undefined) failed.add(parent);
    });
    // What a stop broke off ends without an error, and has not been tried.
    signal.throwIfAborted();
    return { totals, error, unproven, failed };
  }

  async #untilRipe(
    lists: ListCollection,
    waiting: readonly ScopeInDoubt[],
    signal: AbortSignal,
  ): Promise<void> {
    const { store, clock, observer, fence } = this.#reader;
    if (waiting.length === 0) return;
    const readyAt = Math.max(...waiting.map((each) => this.#readyAt(each)));
    const rows = waiting.reduce((sum, each) => sum + each.waiting, 0);
    const left = async (): Promise<number> => readyAt - (await store.now()).getTime();
    let milliseconds = await left();
    if (milliseconds > 0) {
      observer.doubtsWait({ userId: fence.userId, collection: lists.name, rows, milliseconds });
    }
    // Asked again after each wait: the database's clock decides, and ours may run faster.
    for (; milliseconds > 0; milliseconds = await left()) await clock.sleep(milliseconds, signal);
    signal.throwIfAborted();
  }

  #saveComplete(session: ScopeSession, completeAsOf: Date): Promise<void> {
    const { mirror, fence } = this.#reader;
    const { scope } = session;
    // Of lists the collection's is the least over all of them, and saved when all are read.
    const collection = scope.parent === '' ? { collection: { completeAsOf } } : {};
    return session.write(() =>
      mirror.endWalk(fence, scope, { scope: { completeAsOf }, ...collection }, session.committed),
    );
  }

  #reading(lists: ListCollection, session: ScopeSession, { signal, accept }: SettleOptions) {
    return { reader: this.#reader, collection: lists, session, signal, accept, priority: PRIORITY.FULL };
  }

  #readyAt({ ripeAt }: ScopeInDoubt): number {
    return ripeAt.getTime() + this.#reader.settleMs + MARGIN_MS;
  }

  #noteTried({ scope, ripeAt }: ScopeInDoubt): void {
    this.#tried.set(scopeName(scope), ripeAt.getTime());
  }

  #isTried({ scope, ripeAt }: ScopeInDoubt): boolean {
    return ripeAt.getTime() <= (this.#tried.get(scopeName(scope)) ?? Number.NEGATIVE_INFINITY);
  }
}

/** Whether a second reading of the row itself may tell: all but what only two whole walks can. */
function isReadAgain(kind: DoubtKind): boolean {
  return kind !== 'pair';
}

function needsReading({ kinds }: ScopeInDoubt): boolean {
  return kinds.some(isReadAgain);
}
