import type { ListCollection, Scope } from '../../model/collections.ts';
import { KeyRefused } from '../../model/errors.ts';
import { deleteProvenRows } from '../walk-run/delete-proven-rows.ts';
import { confirmRows } from '../walk-run/read-scope.ts';
import type { ReadingContext } from '../reader/reading-context.ts';
import { needsReading, DueSuspects } from './due-suspects.ts';
import type { ScopeSession } from '../scope/scope-session.ts';
import type { SessionPool } from '../scope/session-pool.ts';
import {
  type ConfirmOptions,
  type ConfirmResult,
  type FinishOptions,
  readingOf,
  SecondReadings,
} from './second-readings.ts';
import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
import type { ReadWhole, WalkResult } from '../walk-run/walk-result.ts';
import { addTotals, NO_TOTALS, type ReadTotals } from '../walk-run/walk-totals.ts';
import { whyNotProven } from '../reader/account-source.ts';

/** Scopes whose suspects are read side by side at most. */
const WORKERS = 4;

/**
 * Second proofs of suspected deletions (docs/design/deletions.md, "Confirming"): waits for the end of the grace
 * period, reads the rows again in the fewest pages, and deletes what is proven then. All scopes are read before
 * anything is deleted or called complete: so one proof of whose data it is, begun after the last request, serves them
 * all.
 */
export class DeletionConfirmer {
  readonly #context: ReadingContext;
  readonly #sessions: SessionPool;
  readonly #due: DueSuspects;
  readonly #again: SecondReadings;

  constructor(context: ReadingContext, sessions: SessionPool) {
    this.#context = context;
    this.#due = new DueSuspects(context);
    this.#again = new SecondReadings(context, this.#due);
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
  ): Promise<ConfirmResult> {
    const { store } = this.#context;
    const scopes = await store.suspectScopes(lists.name);
    const waiting = scopes.filter((each) => each.waiting > 0);
    if (waiting.length > 0 && !options.patient) return { totals: NO_TOTALS, error: undefined, unproven: 0 };
    await this.#due.untilReady(lists, waiting, options.signal);
    const parents = new Set([...read.keys(), ...scopes.map(({ scope }) => scope.parent)]);
    const walked = new Map(read);
    const again = await this.#each(lists, [...parents], options, (session) =>
      this.#again.afterWalk(lists, session, walked, options),
    );
    // This also confirms what pages found complete.
    const unproven = await whyNotProven(this.#context, options.signal);
    if (unproven !== undefined) return { ...again, error: again.error ?? unproven, unproven: 0 };
    const left = [...parents].filter((parent) => !again.failed.has(parent));
    const done = await this.#each(lists, left, options, (session, parent) =>
      this.#finishScope(session, walked.get(parent), options),
    );
    const confirmed = {
      totals: addTotals(again.totals, done.totals),
      error: again.error ?? done.error,
      unproven: done.unproven,
    };
    if (confirmed.error === undefined) for (const each of waiting) this.#due.noteTried(each);
    return confirmed;
  }

  /** Deletes what is proven gone in the collection's scopes, unless the brake blocks it. */
  async deleteProven(lists: ListCollection, options: ConfirmOptions): Promise<ConfirmResult> {
    const scopes = await this.#context.store.suspectScopes(lists.name);
    const parents = scopes.filter(({ proven }) => proven > 0).map(({ scope }) => scope.parent);
    const error = parents.length === 0 ? undefined : await whyNotProven(this.#context, options.signal);
    if (error !== undefined) return { totals: NO_TOTALS, error, unproven: 0 };
    return this.#each(lists, parents, options, async (session) => ({
      totals: addTotals(NO_TOTALS, await this.#delete(session, options)),
      error: undefined,
      unproven: 0,
    }));
  }

  /**
   * Reads suspects again whose grace period is over: those that polls found, and those that an earlier process left.
   * @returns when (ms from now) there will be more to do; undefined: not before new suspects come
   */
  async confirmDue(
    lists: ListCollection,
    options: ConfirmOptions,
  ): Promise<ConfirmResult & { readonly againMs: number | undefined }> {
    const scopes = (await this.#context.store.suspectScopes(lists.name)).filter(
      (each) => !this.#due.isTried(each),
    );
    const now = (await this.#context.store.now()).getTime();
    const waits = scopes.map((each) => ({
      each,
      ms: needsReading(each) ? this.#due.readyAt(each) - now : 0,
    }));
    const due = waits.filter(({ ms }) => ms <= 0).map(({ each }) => each);
    const later = waits.map(({ ms }) => ms).filter((ms) => ms > 0);
    const read = await this.#each(
      lists,
      due.map(({ scope }) => scope.parent),
      options,
      (session) => this.#again.ofSuspects(lists, session, options),
    );
    // Also what a stop left, and what the brake blocked: it may let them pass now.
    const deleted = await this.deleteProven(lists, options);
    const error = read.error ?? deleted.error;
    if (error === undefined) for (const each of due) this.#due.noteTried(each);
    return {
      totals: addTotals(read.totals, deleted.totals),
      error,
      unproven: 0,
      againMs: later.length === 0 ? undefined : Math.min(...later),
    };
  }

  /** Reads rows again that seem to be gone: their first proof, if they are. */
  async suspect(lists: ListCollection, keys: readonly string[], signal: AbortSignal): Promise<WalkResult> {
    const scope: Scope = { userId: this.#context.fence.userId, collection: lists.name, parent: '' };
    return this.#sessions.use(scope, lists, (session) =>
      confirmRows(readingOf(this.#context, lists, session, { signal, accept: false }), keys),
    );
  }

  /** Once it is proven whose data was read: deletes what the scope lacks, and says whether it is complete. */
  async #finishScope(
    session: ScopeSession,
    read: ReadWhole | undefined,
    options: ConfirmOptions,
  ): Promise<ConfirmResult> {
    const { store } = this.#context;
    const { scope } = session;
    const hasProven = (await store.suspectsOf(scope)).some(({ proven }) => proven);
    const totals = hasProven ? addTotals(NO_TOTALS, await this.#delete(session, options)) : NO_TOTALS;
    if (read === undefined) return { totals, error: undefined, unproven: 0 };
    const left = await store.suspectsOf(scope);
    // A suspect that is younger than the walk counts, too: another reading may have missed what this one missed.
    if (read.conclusive && !read.complete && left.length === 0) {
      await this.#saveComplete(session, new Date(read.began.getTime() - this.#context.gracePeriodMs));
    }
    return { totals, error: undefined, unproven: left.filter(({ proven }) => !proven).length };
  }

  async #delete(
    session: ScopeSession,
    { accept }: ConfirmOptions,
  ): Promise<Pick<ReadTotals, 'deleted' | 'along'>> {
    const { deleted, along } = await session.write(() => deleteProvenRows(this.#context, session, accept));
    return { deleted, along };
  }

  async #each(
    lists: ListCollection,
    parents: readonly string[],
    { signal }: ConfirmOptions,
    task: (session: ScopeSession, parent: string) => Promise<ConfirmResult>,
  ): Promise<ConfirmResult & { readonly failed: ReadonlySet<string> }> {
    let totals = NO_TOTALS;
    let error: Error | undefined;
    let unproven = 0;
    const failed = new Set<string>();
    await forEachConcurrently(parents, WORKERS, async (parent) => {
      signal.throwIfAborted();
      const scope: Scope = { userId: this.#context.fence.userId, collection: lists.name, parent };
      const confirmed = await this.#sessions.use(scope, lists, (session) => task(session, parent));
      if (confirmed.error instanceof KeyRefused) throw confirmed.error;
      totals = addTotals(totals, confirmed.totals);
      unproven += confirmed.unproven;
      error ??= confirmed.error;
      if (confirmed.error !== undefined) failed.add(parent);
    });
    // A stopped reading has no error, but has not been tried.
    signal.throwIfAborted();
    return { totals, error, unproven, failed };
  }

  #saveComplete(session: ScopeSession, completeAsOf: Date): Promise<void> {
    const { mirror, fence } = this.#context;
    const { scope } = session;
    // A collection of lists is complete as of the earliest of them: that is saved when all are read.
    const collection = scope.parent === '' ? { collection: { completeAsOf } } : {};
    return session.write(() =>
      mirror.endWalk(fence, scope, { scope: { completeAsOf }, ...collection }, session.committed),
    );
  }
}
