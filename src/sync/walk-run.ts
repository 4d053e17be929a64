/** Runs a walk: sends its requests, has its pages written, goes on until it ends. Start reading here. */

import { ClassifiedError } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { isStopped, Stopped } from '@research-mirror/runtime/service';
import { failing } from '../mirror/page-decision.ts';
import type { AtEnd } from '../mirror/page-record.ts';
import type { Scope } from '../model/collections.ts';
import { AnswerTooLarge, LeaseLost, RequestRefused } from '../model/errors.ts';
import { ageOf } from '../model/page.ts';
import { addTotals, NO_TOTALS, type ReadTotals, totalsOf } from '../model/sync-events.ts';
import { failureMessage } from '../postgres/sql-state.ts';
import type { Exchange, PageRequest } from '../service/api.ts';
import type { ScopeMemory } from '../walk/memory.ts';
import { step } from '../walk/step.ts';
import { NO_PAGE } from '../walk/take-page.ts';
import type { Ask, End, FullWalk, Step, Walk } from '../walk/walk.ts';
import type { ReadingContext } from './reading-context.ts';
import type { ScopeReading, WalkResult } from './walk-result.ts';
import { deleteProvenRows, WalkProofs, writeStep } from './walk-proofs.ts';

/** What follows a page: the walk's end, or its next request, sent while the page is written. */
type Turn = End | { readonly type: 'page'; readonly next: Promise<Turn> };

/** Hooks of one walk. */
export interface WalkHooks {
  /** Called at each page of a full walk except the last: true ends the walk as `reached`. */
  readonly enough?: (walk: FullWalk, memory: ScopeMemory) => Promise<boolean>;
  /** Returns what else to store at the walk's end; its `memory` replaces the one given. */
  readonly onEnd?: (
    end: End,
    ended: Pick<WalkResult, 'walk' | 'seen'> & { readonly memory: ScopeMemory },
  ) => Promise<AtEnd & { readonly memory?: ScopeMemory }>;
}

/** Most keys of `WalkResult.seen`: a poll after a long outage may read a million. */
const MOST_SEEN = 50_000;

/**
 * Runs one walk of one scope to its end: requests page after page and writes each in a transaction of its own, with the
 * checkpoint (invariant 1), while the next page is fetched. At the end it deletes rows that are proven gone.
 * @param begin returns the first step; `now` in milliseconds since the epoch
 * @throws LeaseLost; errors of `begin`; any other failure is in the result
 */
export async function runWalk(
  reading: ScopeReading,
  begin: (now: number) => Step | Promise<Step>,
  hooks: WalkHooks = {},
): Promise<WalkResult> {
  const now = reading.context.clock.now();
  const begun = await begin(now);
  return new WalkRun(reading, begun.walk, new Date(now), hooks).run(begun);
}

class WalkRun {
  readonly #reading: ScopeReading;
  readonly #hooks: WalkHooks;
  readonly #startedAt: Date;
  /** The same, monotonic. */
  readonly #startedTick: number;
  #totals: ReadTotals = NO_TOTALS;
  readonly #seen = new Set<string>();
  readonly #proofs: WalkProofs;
  /** Aborted if a page can't be written: the request for the next one is abandoned. */
  readonly #broken = new AbortController();
  #walk: Walk;
  #parentDeleted = false;
  /** The walk's end is stored with its last page. */
  #ended = false;
  #latest: Promise<Turn> | undefined;

  constructor(reading: ScopeReading, walk: Walk, startedAt: Date, hooks: WalkHooks) {
    const { clock, keys } = reading.context;
    this.#reading = reading;
    this.#hooks = hooks;
    this.#walk = walk;
    this.#startedAt = startedAt;
    this.#startedTick = clock.monotonic();
    this.#proofs = new WalkProofs(reading.session, walk, startedAt, keys);
  }

  async run(begun: Step): Promise<WalkResult> {
    const { clock, observer } = this.#reading.context;
    const { scope } = this.#reading.session;
    const { kind } = this.#walk;
    observer.walkStarted({ scope, kind, resumed: this.#walk.kind === 'full' && this.#walk.resumed });
    let result: WalkResult | undefined;
    try {
      result = await this.#readToEnd(begun);
      return result;
    } finally {
      // Even if the lease is lost, so that observers see an end for each start.
      const { outcome = 'interrupted', error } = result ?? {};
      const told = outcome === 'failed' || outcome === 'interrupted' ? outcome : 'complete';
      const { pages, items, inserted, updated } = this.#totals;
      const counts = { pages, items, inserted, updated };
      const milliseconds = clock.monotonic() - this.#startedTick;
      observer.walkEnded({ scope, kind, outcome: told, error, ...counts, milliseconds });
    }
  }

  async #readToEnd(begun: Step): Promise<WalkResult> {
    let outcome: WalkResult['outcome'];
    let error: Error | undefined;
    let status: number | undefined;
    try {
      const end = await this.#readAll(begun);
      outcome = this.#parentDeleted ? 'parent-deleted' : end.outcome;
      if (end.outcome === 'failed') error = new RequestRefused(end.reason ?? 'the walk failed', end.status ?? 0);
      ({ status } = end);
    } catch (cause) {
      if (cause instanceof LeaseLost) throw cause;
      outcome = isStopped(cause) ? 'interrupted' : 'failed';
      if (outcome === 'failed') error = cause instanceof Error ? cause : new Error(messageOf(cause));
    } finally {
      this.#proofs.end(this.#walk);
    }
    // The abandoned request. (`#process` can't wait for it: its answer waits for the write lane.)
    await this.#latest?.catch(() => {});
    if (!this.#ended) await this.#recordEnd(outcome, error);
    const { raised, proven, whole } = this.#proofs;
    const provesItems = proven && this.#reading.session.scope.parent !== '';
    return {
      outcome,
      error,
      status,
      walk: this.#walk,
      seen: this.#seen,
      totals: this.#totals,
      suspects: raised || provesItems,
      proven: provesItems,
      whole: error === undefined ? whole : undefined,
    };
  }

  async #readAll(begun: Step): Promise<End> {
    const { ask } = await this.#resolve(begun);
    let turn: Turn = ask.type === 'end' ? ask : await this.#turn(ask);
    while (turn.type === 'page') turn = await turn.next;
    return turn;
  }

  #turn(ask: PageAsk): Promise<Turn> {
    const { context, session } = this.#reading;
    const request = {
      ...this.#reading,
      scope: session.scope,
      broken: this.#broken.signal,
      onExchange: ({ status }: Exchange) => {
        this.#add({ requests: 1, rateLimited: status === 429 ? 1 : 0 });
      },
    };
    const turn = session.exchange(
      () => askPage(context, ask, request),
      (answered, obs) => this.#process(answered, obs),
    );
    this.#latest = turn;
    turn.catch(() => {}); // `#readAll` gets the error; until then it must not be an unhandled rejection
    return turn;
  }

  /** Runs in the scope's write lane: a step of the walk, then the next request, then the page's transaction. */
  async #process(answered: Awaited<ReturnType<typeof askPage>>, obs: number): Promise<Turn> {
    this.#broken.signal.throwIfAborted();
    const { session, signal } = this.#reading;
    const { answer, page } = answered;
    const before = this.#walk;
    const stepped = await this.#resolve(step(before, session.memory, answer, this.#reading.context.clock.now()));
    const { walk } = stepped;
    const keys = (page?.items ?? []).flatMap(({ key }) => (key === undefined ? [] : [key]));
    if (walk.kind !== 'full') for (const key of keys) if (this.#seen.size < MOST_SEEN) this.#seen.add(key);
    this.#proofs.pageCame(walk, page, keys);
    const ask: PageAsk | End = (await this.#isEnough(stepped)) ? { type: 'end', outcome: 'reached' } : stepped.ask;
    const end = ask.type === 'end' ? ask : undefined;
    const next = ask.type === 'page' && !this.#isOver(before) ? this.#turn(ask) : undefined;
    try {
      await this.#write(answered, obs, stepped, end);
      // Of thousands of lists, one proof serves all deletions of a pass (deletion-confirmer.ts).
      if (end !== undefined && this.#proofs.proven && session.scope.parent === '') await this.#delete();
    } catch (error) {
      this.#broken.abort(error);
      throw error;
    }
    if (this.#parentDeleted) {
      this.#broken.abort(new Error('its list is deleted'));
      return { type: 'end', outcome: 'complete' };
    }
    if (end !== undefined) return end;
    if (next !== undefined) return { type: 'page', next };
    signal.throwIfAborted();
    throw new Stopped('a walk at its bound of requests');
  }

  #add(more: Partial<ReadTotals>): void {
    this.#totals = addTotals(this.#totals, more);
  }

  async #isEnough({ walk, memory, ask }: Step): Promise<boolean> {
    if (ask.type === 'end' || walk.kind !== 'full') return false;
    return (await this.#hooks.enough?.(walk, memory)) ?? false;
  }

  /** Whether no further request is allowed. The bound applies after a page that led on, so that readings progress. */
  #isOver(before: Walk): boolean {
    const { signal, requests = Infinity } = this.#reading;
    return signal.aborted || (this.#totals.requests >= requests && hasLedOn(before, this.#walk));
  }

  /** Answers the walk's lookups of stored rows until it requests a page or ends. */
  async #resolve(from: Step): Promise<Step & { readonly ask: PageAsk | End }> {
    const { store, clock } = this.#reading.context;
    let { walk, memory, ask } = from;
    while (ask.type === 'predecessor') {
      const { of, nth, direction } = ask;
      const key = await store.predecessor(this.#reading.session.scope, direction, of, nth);
      ({ walk, memory, ask } = step(walk, memory, { type: 'predecessor', key }, clock.now()));
    }
    this.#walk = walk;
    return { ...from, walk, memory, ask };
  }

  async #write(
    { page, sentAfter }: Awaited<ReturnType<typeof askPage>>,
    obs: number,
    { walk, memory, page: taken = NO_PAGE }: Step,
    end: End | undefined,
  ): Promise<void> {
    const { context, session, early = false } = this.#reading;
    const { scope } = session;
    // Before the transaction, since it reads other rows and does not depend on this page's write.
    const ended = { walk, memory, seen: this.#seen };
    const atEnd = (end === undefined ? undefined : await this.#hooks.onEnd?.(end, ended)) ?? {};
    const { memory: after = memory, ...ending } = atEnd;
    const items = page?.items.length ?? 0;
    this.#add({ pages: page === undefined ? 0 : 1, items });
    const written = await writeStep(context, session, {
      scope,
      obs,
      after: session.committed,
      page,
      sentAfter,
      taken,
      walk,
      memory: { before: session.memory, after },
      end: end && { ...end, ...ending },
      startedAt: this.#startedAt,
      firstSentAt: this.#proofs.began,
      totals: this.#totals,
      polledAt: session.polledAt,
      lastReadAt: session.lastReadAt,
      early,
      whole: this.#proofs.reading,
      badItems: session.badItems,
    });
    if (end !== undefined) this.#ended = true;
    if (written === undefined) {
      this.#parentDeleted = true;
      return;
    }
    this.#proofs.pageWritten(walk, end, taken.proof, written);
    const totals = totalsOf(written.counts);
    this.#add(totals);
    context.observer.pageWritten({ scope, kind: walk.kind, items, ...totals });
  }

  /** Deletes proven rows if it is proven whose they are; in the write lane, so that no page comes between. */
  async #delete(): Promise<void> {
    const { context, session, signal, accept = false } = this.#reading;
    if (!(await context.source.proveAll({ signal: this.#broken.signal, stop: signal }))) return;
    const { deleted, along } = await deleteProvenRows(context, session, accept);
    this.#add({ deleted, along });
  }

  /** Stores the end of a walk that ended without a page; its last page's checkpoint stays. @throws LeaseLost */
  async #recordEnd(outcome: WalkResult['outcome'], error: Error | undefined): Promise<void> {
    const { context, session } = this.#reading;
    const { scope } = session;
    const { kind } = this.#walk;
    const walk = { scope, kind, startedAt: this.#startedAt, outcome, totals: this.#totals };
    const failure = error && { message: failureMessage(error), at: new Date(context.clock.now()) };
    const collection = failure && failing(scope, failure.message, failure.at);
    const message = failure && { error: failure.message };
    const walkEnd = { ...walk, ...message, ...(collection && { collection }) };
    const stop = { scope: failure ? { failure } : {}, walkEnd };
    try {
      await session.writes.run(() => context.mirror.endWalk(context.fence, scope, stop, session.committed));
    } catch (cause) {
      // The database may have ended the walk: then nothing can be stored, and the caller gets the walk's error.
      if (cause instanceof LeaseLost || !(cause instanceof ClassifiedError)) throw cause;
    }
  }
}

/** Whether the walk has progressed: fewer rows remain to be covered, or it has read new rows. */
function hasLedOn(before: Walk, after: Walk): boolean {
  if ('todo' in before && 'todo' in after) return after.todo.length < before.todo.length;
  return after.recent.at(-1) !== before.recent.at(-1);
}

export type PageAsk = Extract<Ask, { readonly type: 'page' }>;

/**
 * Sends a walk's request. A refusal, or a page that is too large, is an answer: the walk judges it.
 * @param broken aborted when the answer is no longer wanted
 * @returns what the walk takes; the page, if there is one; as of when the answer is (`PageRecord.sentAfter`)
 * @throws every other error of the request
 */
export async function askPage(
  { source, clock }: Pick<ReadingContext, 'source' | 'clock'>,
  ask: PageAsk,
  request: Pick<ScopeReading, 'collection' | 'priority' | 'signal'> &
    Required<Pick<PageRequest, 'onExchange'>> & { readonly scope: Scope; readonly broken: AbortSignal },
) {
  const { collection, scope, priority, signal, broken, onExchange } = request;
  let sentAfter = clock.monotonic();
  try {
    const page = await source.page({
      path: collection.path(scope.parent),
      route: collection.route,
      keyField: collection.keyField,
      keyType: collection.keyType,
      cursor: ask.cursor ?? undefined,
      limit: ask.limit ?? undefined,
      large: ask.large,
      priority,
      signal: broken,
      stop: signal,
      mayStart: () => {
        sentAfter = clock.monotonic();
        return true;
      },
      onExchange,
    });
    const { items, hasMore, nextCursor } = page;
    const keys = items.map(({ key }) => key);
    const ageMs = ageOf(page);
    const answer = { type: 'page' as const, keys, hasMore, nextCursor, ageMs };
    return { answer, page, sentAfter: sentAfter - ageMs };
  } catch (error) {
    if (error instanceof AnswerTooLarge) return { answer: { type: 'too-large' as const }, page: undefined, sentAfter };
    if (!(error instanceof RequestRefused)) throw error;
    const answer = { type: 'refused' as const, status: error.status, message: messageOf(error) };
    return { answer, page: undefined, sentAfter };
  }
}
