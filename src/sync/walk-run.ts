import { LeaseLost, RequestRefused } from '../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { isStopped, Stopped } from '@research-mirror/runtime/service';
import { step } from '../walk/step.ts';
import type { End, Step, Walk } from '../walk/walk.ts';
import { askPage, type PageAsk } from './ask-page.ts';
import type { ReadingContext } from './reading-context.ts';
import type { ScopeSession } from './scope-session.ts';
import { deleteProvenRows, WalkProofs, writeStep } from './write-step.ts';
import type { WalkOptions, WalkResult } from './walk-result.ts';
import { type WalkEnd, addTotals, NO_TOTALS, type ReadTotals, totalsOf } from '../model/sync-events.ts';
import { ClassifiedError } from '@research-mirror/runtime/errors';
import { failureMessage } from '../postgres/sql-state.ts';
import type { PageRecord } from '../mirror/page-record.ts';
import { NO_PAGE } from '../walk/take-page.ts';
import { failing } from '../mirror/page-decision.ts';

/** What follows a page: the walk's end, or its next request, which is in flight while the page is written. */
type Turn = End | { readonly type: 'page'; readonly next: Promise<Turn> };

type Asked = Awaited<ReturnType<typeof askPage>>;

/** Most keys of `WalkResult.seen`: a poll after a long outage may read a million. */
const MOST_SEEN = 50_000;

const ENOUGH: End = { type: 'end', outcome: 'reached' };

/**
 * Runs one walk of one scope to its end: requests page after page and writes each in a transaction of its own, with the
 * checkpoint (invariant 1). The next page is fetched while a page is written. At the end, rows that are proven gone are
 * deleted.
 * @param begin returns the first step; `now` in milliseconds since the epoch
 * @throws LeaseLost; errors of `begin`; any other end of the walk is its result
 */
export async function runWalk(
  context: ReadingContext,
  session: ScopeSession,
  begin: (now: number) => Step | Promise<Step>,
  options: WalkOptions,
): Promise<WalkResult> {
  const now = context.clock.now();
  return new WalkRun(context, session, await begin(now), now, options).run();
}

class WalkRun {
  readonly #context: ReadingContext;
  readonly #session: ScopeSession;
  readonly #options: WalkOptions;
  readonly #begun: Step;
  readonly #startedAt: Date;
  /** The same, monotonic. */
  readonly #startedTick: number;
  /** Totals so far. */
  #totals: ReadTotals = NO_TOTALS;
  /** As `WalkResult.seen`. */
  readonly #seen = new Set<string>();
  readonly #proofs: WalkProofs;
  /** Aborted if a page can't be written: the request for the next one is abandoned. */
  readonly #broken = new AbortController();
  #walk: Walk;
  #parentDeleted = false;
  #ended = false;
  /** The last started turn. */
  #latest: Promise<Turn> | undefined;

  constructor(
    context: ReadingContext,
    session: ScopeSession,
    begun: Step,
    now: number,
    options: WalkOptions,
  ) {
    this.#context = context;
    this.#session = session;
    this.#options = options;
    this.#begun = begun;
    this.#walk = begun.walk;
    this.#startedAt = new Date(now);
    this.#startedTick = context.clock.monotonic();
    this.#proofs = new WalkProofs(session, begun.walk, this.#startedAt, context.keys);
  }

  async run(): Promise<WalkResult> {
    const { clock, observer } = this.#context;
    const { scope } = this.#session;
    const { kind } = this.#walk;
    observer.walkStarted({ scope, kind, resumed: this.#walk.kind === 'full' && this.#walk.resumed });
    let result: WalkResult | undefined;
    try {
      result = await this.#readToEnd();
      return result;
    } finally {
      // Even if the lease is lost, so that observers see an end for each start.
      const { outcome = 'interrupted', error } = result ?? {};
      const { pages, items, inserted, updated } = this.#totals;
      observer.walkEnded({
        scope,
        kind,
        outcome: outcome === 'failed' || outcome === 'interrupted' ? outcome : 'complete',
        error,
        pages,
        items,
        inserted,
        updated,
        milliseconds: clock.monotonic() - this.#startedTick,
      });
    }
  }

  async #readToEnd(): Promise<WalkResult> {
    const { scope } = this.#session;
    let outcome: WalkResult['outcome'];
    let error: Error | undefined;
    let status: number | undefined;
    try {
      const end = await this.#readAll();
      outcome = this.#parentDeleted ? 'parent-deleted' : end.outcome;
      if (end.outcome === 'failed')
        error = new RequestRefused(end.reason ?? 'the walk failed', end.status ?? 0);
      ({ status } = end);
    } catch (cause) {
      if (cause instanceof LeaseLost) throw cause;
      outcome = isStopped(cause) ? 'interrupted' : 'failed';
      if (outcome === 'failed') error = cause instanceof Error ? cause : new Error(messageOf(cause));
    } finally {
      this.#proofs.end(this.#walk);
    }
    // The request that was in flight when the walk broke is abandoned. (It can't be awaited there, since its answer
    // would wait for the write lane.)
    await this.#latest?.catch(() => {});
    const totals = this.#totals;
    if (!this.#ended) {
      const { kind } = this.#begun.walk;
      const walk = { kind, startedAt: this.#startedAt, outcome, totals };
      await recordEnd(this.#context, this.#session, walk, error);
    }
    return {
      outcome,
      error,
      status,
      walk: this.#walk,
      seen: this.#seen,
      totals,
      suspects: this.#proofs.raised || (this.#proofs.proven && scope.parent !== ''),
      proven: this.#proofs.proven && scope.parent !== '',
      whole: error === undefined ? this.#proofs.whole : undefined,
    };
  }

  /** Page after page until the walk says that it has ended. */
  async #readAll(): Promise<End> {
    const { ask } = await this.#resolve(this.#begun);
    let turn: Turn = ask.type === 'end' ? ask : await this.#turn(ask);
    while (turn.type === 'page') turn = await turn.next;
    return turn;
  }

  #turn(ask: PageAsk): Promise<Turn> {
    const { scope } = this.#session;
    const turn = this.#session.exchange(
      () =>
        askPage(this.#context, ask, {
          ...this.#options,
          scope,
          broken: this.#broken.signal,
          onExchange: ({ status }) => {
            this.#add({ requests: 1, rateLimited: status === 429 ? 1 : 0 });
          },
        }),
      (asked, obs) => this.#process(asked, obs),
    );
    this.#latest = turn;
    turn.catch(() => {}); // `#readAll` gets the error; until then it must not be an unhandled rejection
    return turn;
  }

  /** Runs in the scope's write lane: a step of the walk, then the next request, then the page's transaction. */
  async #process({ answer, page, sentAfter }: Asked, obs: number): Promise<Turn> {
    this.#broken.signal.throwIfAborted();
    const before = this.#walk;
    const stepped = await this.#resolve(
      step(this.#walk, this.#session.memory, answer, this.#context.clock.now()),
    );
    this.#walk = stepped.walk;
    const keys = (page?.items ?? []).flatMap(({ key }) => (key === undefined ? [] : [key]));
    if (stepped.walk.kind !== 'full')
      for (const key of keys) if (this.#seen.size < MOST_SEEN) this.#seen.add(key);
    this.#proofs.pageCame(stepped.walk, page, keys);
    const ask = (await this.#isEnough(stepped)) ? ENOUGH : stepped.ask;
    const end = ask.type === 'end' ? ask : undefined;
    const next = ask.type === 'page' && !this.#isOver(before) ? this.#turn(ask) : undefined;
    try {
      await this.#write({ obs, page, sentAfter }, stepped, end);
      // Of thousands of lists, one proof serves all deletions of a pass (deletion-confirmer.ts).
      if (end !== undefined && this.#proofs.proven && this.#session.scope.parent === '') await this.#delete();
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
    this.#options.signal.throwIfAborted();
    throw new Stopped('a walk at its bound of requests');
  }

  #add(more: Partial<ReadTotals>): void {
    this.#totals = addTotals(this.#totals, more);
  }

  /** Whether the pages so far are enough. */
  async #isEnough({ walk, memory, ask }: Step): Promise<boolean> {
    const { enough } = this.#options;
    if (enough === undefined || ask.type === 'end' || walk.kind !== 'full') return false;
    return enough(walk, memory);
  }

  /** Whether no further request is allowed. The bound applies after a page that led on, so that readings progress. */
  #isOver(before: Walk): boolean {
    const { signal, requests = Infinity } = this.#options;
    return signal.aborted || (this.#totals.requests >= requests && hasLedOn(before, this.#walk));
  }

  /** Answers the walk's lookups of stored rows until it requests a page or ends. */
  async #resolve(from: Step): Promise<Step & { readonly ask: PageAsk | End }> {
    let { walk, memory, ask } = from;
    while (ask.type === 'predecessor') {
      const { of, nth, direction } = ask;
      const key = await this.#context.store.predecessor(this.#session.scope, direction, of, nth);
      ({ walk, memory, ask } = step(walk, memory, { type: 'predecessor', key }, this.#context.clock.now()));
    }
    this.#walk = walk;
    return { walk, memory, ask, ...(from.page === undefined ? {} : { page: from.page }) };
  }

  async #write(
    { obs, page, sentAfter }: Pick<PageRecord, 'obs' | 'page' | 'sentAfter'>,
    stepped: Step,
    end: End | undefined,
  ): Promise<void> {
    const session = this.#session;
    const { scope } = session;
    const { walk, page: taken = NO_PAGE } = stepped;
    // Before the transaction, since it reads other rows and does not depend on this page's write.
    const ended = { walk, memory: stepped.memory, seen: this.#seen };
    const atEnd = (end === undefined ? undefined : await this.#options.onEnd?.(end, ended)) ?? {};
    const { memory = stepped.memory, ...ending } = atEnd;
    const items = page?.items.length ?? 0;
    this.#add({ pages: page === undefined ? 0 : 1, items });
    const written = await writeStep(this.#context, session, {
      scope,
      obs,
      after: session.committed,
      page,
      sentAfter,
      taken,
      walk,
      memory: { before: session.memory, after: memory },
      end: end && { ...end, ...ending },
      startedAt: this.#startedAt,
      firstSentAt: this.#proofs.began,
      totals: this.#totals,
      polledAt: session.polledAt,
      lastReadAt: session.lastReadAt,
      early: this.#options.early ?? false,
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
    this.#context.observer.pageWritten({ scope, kind: walk.kind, items, ...totals });
  }

  /**
   * Deletes proven rows, still in the write lane: no page comes between the walk's end, the proof of the account, and
   * the deletion. Without that proof the rows stay.
   */
  async #delete(): Promise<void> {
    const { signal } = this.#options;
    if (!(await this.#context.source.proveAll({ signal: this.#broken.signal, stop: signal }))) return;
    const accept = this.#options.accept ?? false;
    const { deleted, along } = await deleteProvenRows(this.#context, this.#session, accept);
    this.#add({ deleted, along });
  }
}

/** Whether the walk has progressed: fewer rows remain to be covered, or it has read new rows. */
function hasLedOn(before: Walk, after: Walk): boolean {
  if ('todo' in before && 'todo' in after) return after.todo.length < before.todo.length;
  return after.recent.at(-1) !== before.recent.at(-1);
}

/**
 * Stores the end of a walk that ended without a page; its checkpoint stays that of its last page. @throws LeaseLost
 */
async function recordEnd(
  { clock, mirror, fence }: ReadingContext,
  session: ScopeSession,
  walk: Pick<WalkEnd, 'kind' | 'startedAt' | 'outcome' | 'totals'>,
  error: Error | undefined,
): Promise<void> {
  const { scope } = session;
  const at = new Date(clock.now());
  const message = error === undefined ? undefined : failureMessage(error);
  const collection = message === undefined ? undefined : failing(scope, message, at);
  try {
    const stop = {
      scope: message === undefined ? {} : { failure: { message, at } },
      walkEnd: {
        scope,
        ...walk,
        ...(message === undefined ? {} : { error: message }),
        ...(collection === undefined ? {} : { collection }),
      },
    };
    await session.write(() => mirror.endWalk(fence, scope, stop, session.committed));
  } catch (cause) {
    // The database may have ended the walk: then nothing can be stored, and the caller gets the walk's error.
    if (cause instanceof LeaseLost || !(cause instanceof ClassifiedError)) throw cause;
  }
}
