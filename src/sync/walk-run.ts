import type { Exchange } from '../api/api.ts';
import type { Priority } from '../budget/priorities.ts';
import type { CollectionChange, WalkTotals } from '../mirror/walk-end.ts';
import type { ListCollection } from '../model/collections.ts';
import { LeaseLost, MirrorError, RequestRefused } from '../model/errors.ts';
import type { Page } from '../model/page.ts';
import { messageOf } from '../runtime/message.ts';
import { isStopped } from '../runtime/service.ts';
import { checkpoint } from '../walk/checkpoint.ts';
import type { ScopeMemory } from '../walk/memory.ts';
import { step } from '../walk/step.ts';
import type { Answer, Ask, End, Step, Walk } from '../walk/walk.ts';
import { decide, failing, type PageStep } from './page-decision.ts';
import { carryingFreed, type Reader } from './reader.ts';
import type { ScopeSession } from './scope-session.ts';
import { addTotals, NO_TOTALS, totalsOf } from './walk-totals.ts';

export interface WalkOptions {
  readonly collection: ListCollection;
  readonly priority: Priority;
  /** Aborted: no further request; the page in hand is still written. */
  readonly signal: AbortSignal;
  /** What to store besides when the walk ends, asked in the step that ends it. */
  readonly onEnd?: (end: End, ended: Ended) => Promise<AtEnd>;
}

/** A walk in the step that ends it. */
export interface Ended {
  readonly walk: Walk;
  /** The scope's memory as the step left it. */
  readonly memory: ScopeMemory;
  /** Keys of all items that this walk read. */
  readonly seen: ReadonlySet<string>;
}

export interface AtEnd {
  /** As of when the scope's new and unsettled rows are mirrored, where the walk's end makes that true. */
  readonly polledAt?: Date;
  /** Freshness of the collection. */
  readonly collection?: CollectionChange;
  /** Memory in place of the one that the step left. */
  readonly memory?: ScopeMemory;
}

/** How a walk ended. `error` is given when it failed; an interrupted one goes on from its checkpoint next time. */
export interface WalkResult {
  readonly outcome: End['outcome'] | 'interrupted' | 'parent-deleted';
  readonly error: Error | undefined;
  /** Status of the service's refusal, where that ended the walk. */
  readonly status: number | undefined;
  /** Keys that the walk read. */
  readonly seen: ReadonlySet<string>;
  readonly totals: WalkTotals;
}

/** One page's turn: what the walk asks next; its request is under way already when the page is written. */
interface Turn {
  readonly end: End | undefined;
  readonly following: Promise<Turn> | undefined;
}

type PageAsk = Extract<Ask, { readonly type: 'page' }>;

/**
 * Runs one walk of one scope to its end: asks page after page and writes each in its own transaction, together with
 * the checkpoint (invariant 1). While a page is written the next one is fetched.
 * @throws LeaseLost; anything else that ends the walk is its result
 */
export async function runWalk(
  reader: Reader,
  session: ScopeSession,
  begun: Step,
  options: WalkOptions,
): Promise<WalkResult> {
  return new WalkRun(reader, session, begun, options).run();
}

class WalkRun {
  readonly #reader: Reader;
  readonly #session: ScopeSession;
  readonly #options: WalkOptions;
  readonly #begun: Step;
  readonly #startedAt: Date;
  readonly #seen = new Set<string>();
  /** Aborted when a page could not be written: what is under way for the next one is abandoned. */
  readonly #broken = new AbortController();
  #totals: WalkTotals = NO_TOTALS;
  #walk: Walk;
  #status: number | undefined;
  #parentDeleted = false;
  #ended = false;
  /** The turn that was begun last. */
  #latest: Promise<Turn> | undefined;

  constructor(reader: Reader, session: ScopeSession, begun: Step, options: WalkOptions) {
    this.#reader = reader;
    this.#session = session;
    this.#options = options;
    this.#begun = begun;
    this.#walk = begun.walk;
    this.#startedAt = new Date(reader.clock.now());
  }

  async run(): Promise<WalkResult> {
    const { observer } = this.#reader;
    const scope = this.#session.scope;
    const kind = this.#walk.kind;
    const resumed = this.#walk.kind === 'full' && this.#walk.resumed;
    observer.walkStarted({ scope, kind, resumed });
    let outcome: WalkResult['outcome'];
    let error: Error | undefined;
    try {
      const end = await this.#readAll();
      outcome = this.#parentDeleted ? 'parent-deleted' : end.outcome;
      if (end.outcome === 'failed')
        error = new RequestRefused(end.reason ?? 'the walk failed', end.status ?? 0);
      this.#status = end.status;
    } catch (cause) {
      if (cause instanceof LeaseLost) throw cause;
      outcome = isStopped(cause) ? 'interrupted' : 'failed';
      if (outcome === 'failed') error = cause instanceof Error ? cause : new Error(messageOf(cause));
    }
    // What was under way when the walk broke is abandoned by now. (Not waited for where it broke: in the write lane
    // its answer would stand behind us.)
    await this.#latest?.catch(() => {});
    if (!this.#ended) await this.#recordEnd(outcome, error);
    observer.walkEnded({
      scope,
      kind,
      outcome: outcome === 'failed' || outcome === 'interrupted' ? outcome : 'complete',
      error: error === undefined ? undefined : messageOf(error),
      pages: this.#totals.pages,
      items: this.#totals.items,
      milliseconds: this.#reader.clock.now() - this.#startedAt.getTime(),
    });
    return { outcome, error, status: this.#status, seen: this.#seen, totals: this.#totals };
  }

  /** Page after page until the walk says that it has ended. */
  async #readAll(): Promise<End> {
    const { ask } = await this.#resolve(this.#begun);
    if (ask.type === 'end') return ask;
    let turn: Promise<Turn> | undefined = this.#turn(ask);
    for (;;) {
      const { end, following }: Turn = await turn;
      if (end !== undefined) return end;
      if (following === undefined) throw new Error('a walk asked for nothing'); // excluded by the type Ask
      turn = following;
    }
  }

  #turn(ask: PageAsk): Promise<Turn> {
    const turn = this.#session.exchange(
      () => this.#ask(ask),
      (answer, obs) => this.#process(answer, obs),
    );
    this.#latest = turn;
    turn.catch(() => {}); // heard by whoever awaits the turn before it; never an unhandled rejection meanwhile
    return turn;
  }

  /** Sends the request. A refusal is an answer for the walk to judge; every other error ends it. */
  async #ask(ask: PageAsk): Promise<Page | RequestRefused> {
    const { collection, priority, signal } = this.#options;
    try {
      return await this.#reader.source.page({
        path: collection.path(this.#session.scope.parent),
        route: collection.route,
        keyField: collection.keyField,
        keyType: collection.keyType,
        cursor: ask.cursor ?? undefined,
        limit: ask.limit ?? undefined,
        priority,
        signal: this.#broken.signal,
        stop: signal,
        onExchange: (exchange) => this.#count(exchange),
      });
    } catch (error) {
      if (error instanceof RequestRefused) return error;
      throw error;
    }
  }

  #count(exchange: Exchange): void {
    this.#totals = addTotals(this.#totals, { requests: 1, rateLimited: exchange.status === 429 ? 1 : 0 });
  }

  /** In the scope's write lane: one step of the walk, the next request on its way, then the page's transaction. */
  async #process(answer: Page | RequestRefused, obs: number): Promise<Turn> {
    this.#broken.signal.throwIfAborted();
    const page = answer instanceof RequestRefused ? undefined : answer;
    const told: Answer =
      page === undefined
        ? { type: 'refused', status: (answer as RequestRefused).status, message: messageOf(answer) }
        : {
            type: 'page',
            keys: page.items.map((item) => item.key),
            hasMore: page.hasMore,
            nextCursor: page.nextCursor,
          };
    for (const item of page?.items ?? []) if (item.key !== undefined) this.#seen.add(item.key);

    const stepped = await this.#resolve(
      step(this.#walk, this.#session.memory, told, this.#reader.clock.now()),
    );
    this.#walk = stepped.walk;
    const { ask } = stepped;
    const end = ask.type === 'end' ? this.#settled(ask) : undefined;
    const following = ask.type === 'page' && !this.#options.signal.aborted ? this.#turn(ask) : undefined;
    try {
      await this.#write(page, obs, stepped, end);
    } catch (error) {
      this.#broken.abort(error);
      throw error;
    }
    if (this.#parentDeleted) {
      this.#broken.abort(new Error('its list is deleted'));
      return { end: { type: 'end', outcome: 'complete' }, following: undefined };
    }
    if (end === undefined && following === undefined) this.#options.signal.throwIfAborted();
    return { end, following };
  }

  /**
   * A list that is gone is read, and has nothing to say: its row goes when walks of the lists have proved it
   * (unknowns.md, "a deleted list").
   */
  #settled(end: End): End {
    const gone = end.outcome === 'failed' && end.status === 404 && this.#session.scope.parent !== '';
    return gone ? { type: 'end', outcome: 'complete' } : end;
  }

  /** Looks up the stored rows that the walk asks for, until it asks the service (or nothing more). */
  async #resolve(from: Step): Promise<Step & { readonly ask: PageAsk | End }> {
    let { walk, memory, ask } = from;
    while (ask.type === 'predecessor') {
      const { of, nth, direction } = ask;
      const key = await this.#reader.store.predecessor(this.#session.scope, direction, of, nth);
      ({ walk, memory, ask } = step(walk, memory, { type: 'predecessor', key }, this.#reader.clock.now()));
    }
    this.#walk = walk;
    return { walk, memory, ask };
  }

  /** The page, the checkpoint, the evidence and the budget's slots: one transaction. */
  async #write(page: Page | undefined, obs: number, stepped: Step, end: End | undefined): Promise<void> {
    const { reader, scope } = { reader: this.#reader, scope: this.#session.scope };
    // Asked before the transaction: it reads other rows, and the answer does not depend on this page's write.
    const { walk, memory: left } = stepped;
    const ended = { walk, memory: left, seen: this.#seen };
    const atEnd = (end === undefined ? undefined : await this.#options.onEnd?.(end, ended)) ?? {};
    const items = page?.items ?? [];
    this.#totals = addTotals(this.#totals, { pages: page === undefined ? 0 : 1, items: items.length });
    const taken: PageStep = {
      scope,
      startedAt: this.#startedAt,
      totals: this.#totals,
      before: this.#session.memory,
      walk,
      memory: atEnd.memory ?? left,
      items,
      end,
      polledAt: atEnd.polledAt,
      collection: atEnd.collection,
    };
    let memory = taken.memory;
    const result = await carryingFreed(reader, (alsoInTransaction) =>
      reader.mirror.applyPage(reader.fence, {
        scope,
        obs,
        items,
        sentAgo: () => 0,
        alsoInTransaction,
        decide: (observed) => {
          const decided = decide(taken, observed);
          ({ memory } = decided);
          return decided.decision;
        },
      }),
    );
    this.#session.memory = memory;
    if (this.#walk.kind === 'full') {
      this.#session.fullWalk = end === undefined ? checkpoint(this.#walk) : undefined;
    }
    if (end?.outcome === 'complete') this.#session.everComplete = true;
    if (end !== undefined) this.#ended = true;
    if (result.state === 'parent_deleted') {
      this.#parentDeleted = true;
      return;
    }
    if (atEnd.polledAt !== undefined) this.#session.polledAt = atEnd.polledAt;
    const { inserted = 0, updated = 0, unchanged = 0, quarantined = 0 } = totalsOf(result.counts);
    this.#totals = addTotals(this.#totals, totalsOf(result.counts));
    const kind = this.#walk.kind;
    reader.observer.pageWritten({
      scope,
      kind,
      items: items.length,
      inserted,
      updated,
      unchanged,
      quarantined,
    });
    if (result.changed !== undefined) reader.onChanged(result.changed);
  }

  /** A walk that no page ended: its failure is remembered, its checkpoint stays as its last page left it. */
  async #recordEnd(outcome: WalkResult['outcome'], error: Error | undefined): Promise<void> {
    const { scope } = this.#session;
    const at = new Date(this.#reader.clock.now());
    const message = error === undefined ? undefined : messageOf(error);
    const collection = message === undefined ? undefined : failing(scope, message, at);
    const failed = { kind: this.#walk.kind, startedAt: this.#startedAt, outcome, totals: this.#totals };
    try {
      await this.#reader.mirror.endWalk(this.#reader.fence, scope, {
        scope: message === undefined ? {} : { failure: { message, at } },
        walkEnd: {
          scope,
          ...failed,
          ...(message === undefined ? {} : { error: message }),
          ...(collection === undefined ? {} : { collection }),
        },
      });
    } catch (cause) {
      // The database may be what ended the walk; then nothing can be stored of it, and the caller hears of it.
      if (cause instanceof LeaseLost || !(cause instanceof MirrorError)) throw cause;
    }
  }
}
