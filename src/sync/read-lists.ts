import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
import type { ScopeChange } from '../mirror/page-record.ts';
import type { StoredScope } from '../mirror/scope-store.ts';
import { collection, type ListCollection, parentsOf, type Scope } from '../model/collections.ts';
import { KeyRefused, RequestRefused } from '../model/errors.ts';
import type { Operator } from '../postgres/operator-log.ts';
import { PRIORITY, type Priority } from '../service/rate-groups.ts';
import type { AccountStore, DueScopesBounds } from './account-store.ts';
import type { DeletionConfirmer } from './deletion-confirmer.ts';
import { pollScope, readWhole, type ScopeReading } from './read-scope.ts';
import type { ReadingContext } from './reading-context.ts';
import type { SessionPool } from './scope-session.ts';
import { isUnknown, type ReadWhole, type WalkResult } from './walk-result.ts';
import { addTotals, NO_TOTALS, type ReadTotals } from '../model/sync-events.ts';

export interface ListsRequest {
  readonly what: 'poll' | 'full';
  /** Only lists that a change made due. */
  readonly dueOnly: boolean;
  /** Lists that are left then are the next pass's; undefined: all are read. */
  readonly until?: Date | undefined;
  readonly accept: Operator | false;
  readonly signal: AbortSignal;
}

/** What a pass over lists did. */
export interface ListsRead {
  /** When it began. */
  readonly since: Date;
  /** How many lists it read. */
  readonly count: number;
  readonly totals: ReadTotals;
  /** The first failure. */
  readonly error: Error | undefined;
  /** Lists that were read whole, and are not known to be complete yet. */
  readonly whole: ReadonlyMap<string, ReadWhole>;
  /** Items are suspected. */
  readonly suspects: boolean;
  /** Items are proven gone, and not deleted yet. */
  readonly proven: boolean;
  /**
   * What is known of the rows of lists that the service does not know: `some` are suspected now; `full-needed`: only a
   * full walk can tell.
   */
  readonly suspected: 'none' | 'some' | 'full-needed';
}

/** A list that the service says it does not have. */
interface UnknownList {
  readonly scope: Scope;
  readonly status: number;
}

/** Reads a collection with one scope for each row of its parent: all lists, or those that are due. */
export class ListsReader {
  readonly #context: ReadingContext;
  readonly #sessions: SessionPool;
  readonly #confirmer: DeletionConfirmer;
  /** Lists that any reading read whole, and whose completeness no full pass has judged yet. */
  readonly #whole = new Map<string, ReadWhole>();
  /** With what the next run begins. */
  #first: 'changed' | 'unread' = 'changed';
  /** Lists whose row was read again and was not there: a full walk is asked for once, the next is the schedule's. */
  readonly #missing = new Set<string>();

  constructor(context: ReadingContext, sessions: SessionPool, confirmer: DeletionConfirmer) {
    this.#context = context;
    this.#sessions = sessions;
    this.#confirmer = confirmer;
  }

  async read(
    lists: ListCollection,
    { what, dueOnly, until, accept, signal }: ListsRequest,
  ): Promise<ListsRead> {
    const since = new Date(this.#context.clock.now());
    const first = this.#first;
    if (!dueOnly) this.#first = first === 'changed' ? 'unread' : 'changed';
    const unknown: UnknownList[] = [];
    let totals = NO_TOTALS;
    let error: Error | undefined;
    let suspects = false;
    let proven = false;
    const count = await passOverScopes(
      this.#context.store,
      {
        lists,
        since,
        dueOnly,
        fully: what === 'full',
        crowded: () => this.#context.source.isCrowded(),
        now: () => new Date(this.#context.clock.now()),
        until,
        first,
        signal,
      },
      async ({ scope }) => {
        const result = await this.#readList(lists, scope, what, {
          accept,
          priority: PRIORITY.LISTS,
          signal,
        });
        if (result.error instanceof KeyRefused) throw result.error;
        totals = addTotals(totals, result.totals);
        suspects ||= result.suspects;
        proven ||= result.proven;
        if (isUnknown(result)) {
          unknown.push({ scope, status: result.status });
          return false;
        }
        if (result.error === undefined) return true;
        error ??= result.error;
        return false;
      },
    );
    const whole = what === 'full' ? this.#wholeSince(since) : new Map<string, ReadWhole>();
    const judged = await this.#judgeUnknown(lists, unknown, since, signal);
    const read = { since, count, whole, suspects, proven, suspected: judged.suspected };
    return { ...read, totals: addTotals(totals, judged.more), error: error ?? judged.refused };
  }

  /** Reads one list, as a pass does. @throws KeyRefused */
  async readOne(
    lists: ListCollection,
    parent: string,
    { priority, signal }: { readonly priority: Priority; readonly signal: AbortSignal },
  ): Promise<Pick<ListsRead, 'totals' | 'error' | 'suspects' | 'proven' | 'suspected'>> {
    const scope: Scope = { userId: this.#context.fence.userId, collection: lists.name, parent };
    const since = new Date(this.#context.clock.now());
    const result = await this.#readList(lists, scope, 'poll', { accept: false, priority, signal });
    const { error, suspects, proven, totals } = result;
    if (error instanceof KeyRefused) throw error;
    const read = { suspects, proven };
    if (!isUnknown(result)) return { ...read, totals, error, suspected: 'none' };
    const unknown = [{ scope, status: result.status }];
    const { suspected, refused, more } = await this.#judgeUnknown(lists, unknown, since, signal);
    return { ...read, totals: addTotals(totals, more), error: refused, suspected };
  }

  async #readList(
    lists: ListCollection,
    scope: Scope,
    what: 'poll' | 'full',
    options: Pick<ScopeReading, 'priority' | 'signal'> & Pick<ListsRequest, 'accept'>,
  ): Promise<WalkResult> {
    const result = await this.#sessions.use(scope, lists, (session) =>
      session.inTurn(async () => {
        const reading = { context: this.#context, collection: lists, session, ...options };
        if (what === 'full' || !session.everComplete) return readWhole(reading);
        const polled = await pollScope(reading);
        return polled.outcome === 'full-needed' ? readWhole(reading) : polled;
      }),
    );
    const { whole } = result;
    if (whole?.complete === true) this.#whole.delete(scope.parent);
    else if (whole !== undefined) this.#whole.set(scope.parent, whole);
    return result;
  }

  /** Lists read whole since then, also by other readings: the pass left those out. */
  #wholeSince(since: Date): ReadonlyMap<string, ReadWhole> {
    const found = new Map([...this.#whole].filter(([, { began }]) => began >= since));
    this.#whole.clear();
    return found;
  }

  /**
   * Judges lists that are refused one by one although they were listed, by reading their rows again. A list whose row
   * is gone, too, is no failure: walks of the lists prove that twice and delete it. A list that is still listed could
   * not be read: that is reported until it can be read, or is gone. Without a trusted order, or an answer that is the
   * whole list, only a full walk can suspect their rows.
   * @param since none of the lists was asked for before
   * @returns `refused`: the first one that is not known to be gone; `more`: what it cost, and what it deleted
   * @throws KeyRefused, LeaseLost
   */
  async #judgeUnknown(
    lists: ListCollection,
    unknown: readonly UnknownList[],
    since: Date,
    signal: AbortSignal,
  ): Promise<
    Pick<ListsRead, 'suspected'> & {
      readonly refused: RequestRefused | undefined;
      readonly more: Partial<ReadTotals>;
    }
  > {
    const parents = collection(parentsOf(lists).collection);
    if (unknown.length === 0 || parents.kind !== 'list')
      return { suspected: 'none', refused: undefined, more: {} };
    const before = await this.#suspectLists(parents);
    const known = new Set(this.#missing);
    // A suspect is read once: that may be its second proof.
    const asked = unknown
      .map(({ scope }) => scope.parent)
      .filter((key) => !before.has(key) || !known.has(key));
    const read = asked.length === 0 ? undefined : await this.#confirmer.suspect(parents, asked, signal);
    if (read?.error instanceof KeyRefused) throw read.error;
    const suspectLists = await this.#suspectLists(parents);
    let refused: RequestRefused | undefined;
    let walk = false;
    for (const { scope, status } of unknown) {
      const key = scope.parent;
      const listed = read?.seen.has(key) === true;
      const gone = suspectLists.has(key) || (await this.#isDeleted(scope));
      const needsWalk = !gone && !listed && read?.error === undefined && !known.has(key);
      walk ||= needsWalk;
      if (listed || read?.error !== undefined) this.#missing.delete(key);
      else this.#missing.add(key);
      // A list that is gone has nothing new.
      if (gone || needsWalk) await this.#note(scope, undefined, { polledAt: since });
      else {
        const why = listed
          ? `although ${parents.path('')} shows it`
          : 'and whether it is gone is not known yet';
        const message = `list ${key}: GET ${lists.path(key)} answers ${status} ${why}`;
        refused ??= new RequestRefused(message, status);
        await this.#note(scope, message, {});
      }
    }
    const suspected = read?.suspects === true ? 'some' : walk ? 'full-needed' : 'none';
    if (read === undefined) return { suspected, refused, more: {} };
    // The collection of items counts deleted lists among the rows of other collections.
    const { requests, rateLimited, deleted, along } = read.totals;
    const more = { requests, rateLimited, along: new Map([...along, [parents.name, deleted] as const]) };
    return { suspected, refused, more };
  }

  /** Stores why the list could not be read; undefined: it is no failure. */
  #note(scope: Scope, message: string | undefined, read: Pick<ScopeChange, 'polledAt'>): Promise<void> {
    const { fence, mirror, clock } = this.#context;
    const failure = message === undefined ? null : { message, at: new Date(clock.now()) };
    return mirror.endWalk(fence, scope, { scope: { failure, ...read } }, undefined);
  }

  async #suspectLists({ name }: ListCollection): Promise<Set<string>> {
    const scope: Scope = { userId: this.#context.fence.userId, collection: name, parent: '' };
    return new Set((await this.#context.store.suspectsOf(scope)).map(({ key }) => key));
  }

  async #isDeleted(scope: Scope): Promise<boolean> {
    return (await this.#context.store.openScope(scope)).goneAt !== undefined;
  }
}

export interface ListPassOptions {
  readonly lists: ListCollection;
  /** Scopes read since then are left out, unless they came due again. */
  readonly since: Date;
  /** Only scopes that a change made due, not all. */
  readonly dueOnly: boolean;
  /** Every scope is walked fully: a poll since then does not count. */
  readonly fully: boolean;
  /**
   * Requests of the account wait for slots. Then more than one worker hides no latency: it would only take slots from
   * the account's other walks, with which lists take turns.
   */
  readonly crowded: () => boolean;
  /** By the database's clock. */
  readonly now: () => Date;
  /** From then on the pass ends: the next one begins with what was unread longest. */
  readonly until: Date | undefined;
  /**
   * What goes first in its first batch; in the next ones the two take turns, as they have to in successive passes. So
   * lists that change again and again take half of the readings at most, however short passes are.
   */
  readonly first: DueScopesBounds['first'];
  readonly signal: AbortSignal;
}

/** Scopes that are chosen at once: few, so that one that changes meanwhile comes soon. */
const BATCH = 10;
/** Lists that are read side by side at most. The budget decides the pace; this only hides latency. */
const WORKERS = 4;

/**
 * Reads scopes, a batch at a time: those that changed, and those unread longest (docs/design/plan.md, "Lists").
 * @param read reads one scope; false: it failed and is not tried again in this pass
 * @returns how many it read
 * @throws what `read` throws, when all reads under way have ended
 */
export async function passOverScopes(
  store: Pick<AccountStore, 'dueScopes'>,
  options: ListPassOptions,
  read: (scope: StoredScope) => Promise<boolean>,
): Promise<number> {
  const { lists, fully, dueOnly, crowded, now, until, signal } = options;
  // Nothing was read before 1970.
  const notReadSince = dueOnly ? new Date(0) : options.since;
  /** Not read again in this pass: they failed, or were read twice (what changes meanwhile is due after it). */
  const spent = new Set<string>();
  const once = new Set<string>();
  let count = 0;
  let { first } = options;
  const isOver = (): boolean => until !== undefined && now() >= until;
  while (!isOver()) {
    const batch = await store.dueScopes(lists, {
      notReadSince,
      fully,
      except: [...spent],
      limit: BATCH,
      now: now(),
      first: dueOnly ? 'changed' : first,
      resting: dueOnly ? 'out' : 'last',
    });
    if (batch.length === 0) break;
    first = first === 'changed' ? 'unread' : 'changed';
    await forEachConcurrently(batch, crowded() ? 1 : WORKERS, async (stored) => {
      signal.throwIfAborted();
      if (isOver()) return;
      const { parent } = stored.scope;
      count += 1;
      const well = await read(stored);
      if (!well || once.has(parent)) spent.add(parent);
      once.add(parent);
    });
  }
  signal.throwIfAborted();
  return count;
}
