/** Reads a collection that has one scope for each row of its parent: passes over lists, side by side. */

import { forEachConcurrently } from '@research-mirror/runtime/concurrency/for-each-concurrently';
import type { StoredScope } from '../mirror/scope-store.ts';
import { collection, type ListCollection, parentsOf, type Scope } from '../model/collections.ts';
import { KeyRefused, RequestRefused } from '../model/errors.ts';
import { addTotals, NO_TOTALS } from '../model/sync-events.ts';
import { PRIORITY } from '../service/rate-groups.ts';
import type { AccountStore } from './account-store.ts';
import type { DeletionConfirmer } from './deletion-confirmer.ts';
import { pollScope, readWhole } from './read-scope.ts';
import type { ReadingContext } from './reading-context.ts';
import type { SessionPool } from './scope-session.ts';
import type { ReadWhole } from './walk-proofs.ts';
import {
  EMPTY_OUTCOME,
  isUnknown,
  joinOutcomes,
  type ReadOutcome,
  readOutcomeOf,
  type ScopeReading,
  type WalkResult,
} from './walk-result.ts';

/** Reads a collection with one scope for each row of its parent: all lists, or those that are due. */
export class ListsReader {
  readonly #context: ReadingContext;
  readonly #sessions: SessionPool;
  readonly #confirmer: DeletionConfirmer;
  /** Lists that any reading read whole, and whose completeness no full pass has judged yet. */
  readonly #whole = new Map<string, ReadWhole>();
  /** Which lists the next run reads first. */
  #first: 'changed' | 'unread' = 'changed';
  /** Lists whose row was read again and was not there: a full walk is requested once, the next is the schedule's. */
  readonly #missing = new Set<string>();

  constructor(context: ReadingContext, sessions: SessionPool, confirmer: DeletionConfirmer) {
    this.#context = context;
    this.#sessions = sessions;
    this.#confirmer = confirmer;
  }

  /**
   * One pass over lists.
   * @returns `since`: when it began; `count`: lists that it read; `whole`: lists that were read whole, and are not
   *   known to be complete yet; `proven`: items are proven gone, and not deleted yet
   * @throws KeyRefused
   */
  async read(
    lists: ListCollection,
    request: Pick<ScopeReading, 'signal' | 'accept'> & {
      readonly what: 'poll' | 'full';
      /** Only lists that a change made due. */
      readonly dueOnly: boolean;
      /** Lists that are left then are the next pass's; undefined: all are read. */
      readonly until?: Date | undefined;
    },
  ) {
    const { what, dueOnly, until, accept = false, signal } = request;
    const { source, store, clock } = this.#context;
    const since = new Date(clock.now());
    const first = this.#first;
    if (!dueOnly) this.#first = first === 'changed' ? 'unread' : 'changed';
    const fully = what === 'full';
    const unknown = new Map<string, number>();
    let outcome: ReadOutcome = { ...EMPTY_OUTCOME, suspects: fully ? [lists.name] : [] };
    let proven = false;
    const now = (): Date => new Date(clock.now());
    const crowded = (): boolean => source.isCrowded();
    const pass = { lists, since, dueOnly, fully, crowded, now, until, first, signal };
    const count = await passOverScopes(store, pass, async ({ scope: { parent } }) => {
      const result = await this.#readList(lists, parent, what, { accept, priority: PRIORITY.LISTS, signal });
      if (isUnknown(result)) unknown.set(parent, result.status);
      outcome = joinOutcomes(outcome, listOutcome(lists, result));
      proven ||= result.proven;
      return result.error === undefined;
    });
    const whole = fully ? this.#wholeSince(since) : new Map<string, ReadWhole>();
    outcome = joinOutcomes(outcome, await this.#judgeUnknown(lists, unknown, since, signal));
    return { since, count, outcome, whole, proven };
  }

  /** Reads one list, as a pass does. @throws KeyRefused */
  async readOne(
    lists: ListCollection,
    parent: string,
    { priority, signal }: Pick<ScopeReading, 'priority' | 'signal'>,
  ) {
    const since = new Date(this.#context.clock.now());
    const result = await this.#readList(lists, parent, 'poll', { priority, signal });
    const unknown = new Map<string, number>(isUnknown(result) ? [[parent, result.status]] : []);
    const outcome = listOutcome(lists, result);
    const judged = await this.#judgeUnknown(lists, unknown, since, signal);
    return { outcome: joinOutcomes(outcome, judged), proven: result.proven };
  }

  async #readList(
    lists: ListCollection,
    parent: string,
    what: 'poll' | 'full',
    options: Pick<ScopeReading, 'priority' | 'signal' | 'accept'>,
  ): Promise<WalkResult> {
    const result = await this.#sessions.use(lists, parent, (session) =>
      session.readings.run(async () => {
        const reading = { context: this.#context, collection: lists, session, ...options };
        if (what === 'full' || !session.everComplete) return readWhole(reading);
        const polled = await pollScope(reading);
        return polled.outcome === 'full-needed' ? readWhole(reading) : polled;
      }),
    );
    const { whole } = result;
    if (whole?.complete === true) this.#whole.delete(parent);
    else if (whole !== undefined) this.#whole.set(parent, whole);
    return result;
  }

  /** Lists read whole since then, also by other readings: the pass left those out. */
  #wholeSince(since: Date): ReadonlyMap<string, ReadWhole> {
    const found = new Map([...this.#whole].filter(([, { began }]) => began >= since));
    this.#whole.clear();
    return found;
  }

  /**
   * Judges lists that were listed but are refused one by one, by reading their rows again. A list whose row is gone,
   * too, is no failure: walks of the lists prove that twice and delete it. A list that is still listed could not be
   * read: that is reported until it can be read, or is gone. Without a trusted order, or an answer that is the whole
   * list, only a full walk can suspect their rows.
   * @param unknown status of the refusal by list
   * @param since no list was read before
   * @returns `error`: the first list that is not known to be gone; `totals`: what it cost, and what it deleted
   * @throws KeyRefused, LeaseLost
   */
  async #judgeUnknown(
    lists: ListCollection,
    unknown: ReadonlyMap<string, number>,
    since: Date,
    signal: AbortSignal,
  ): Promise<ReadOutcome> {
    const { fence, mirror, store, clock } = this.#context;
    const parents = collection(parentsOf(lists).collection);
    if (unknown.size === 0 || parents.kind !== 'list') return EMPTY_OUTCOME;
    const suspectLists = async (): Promise<Set<string>> =>
      new Set((await store.suspectsOf(this.#scope(parents, ''))).map(({ key }) => key));
    const before = await suspectLists();
    const known = new Set(this.#missing);
    // A suspect is read once: that may be its second proof.
    const reread = [...unknown.keys()].filter((key) => !before.has(key) || !known.has(key));
    const read = reread.length === 0 ? undefined : await this.#confirmer.suspect(parents, reread, signal);
    if (read?.error instanceof KeyRefused) throw read.error;
    const after = await suspectLists();
    let error: RequestRefused | undefined;
    let walk = false;
    for (const [key, status] of unknown) {
      const scope = this.#scope(lists, key);
      const listed = read?.seen.has(key) === true;
      const gone = after.has(key) || (await store.openScope(scope)).goneAt !== undefined;
      const needsWalk = !gone && !listed && read?.error === undefined && !known.has(key);
      walk ||= needsWalk;
      if (listed || read?.error !== undefined) this.#missing.delete(key);
      else this.#missing.add(key);
      if (gone || needsWalk) {
        // No failure; a list that is gone has nothing new.
        await mirror.endWalk(fence, scope, { scope: { failure: null, polledAt: since } }, undefined);
        continue;
      }
      const why = listed
        ? `, although ${parents.path('')} shows it`
        : ', and it is not known yet whether the list is gone';
      const message = `list ${key}: GET ${lists.path(key)} returns ${status}${why}`;
      error ??= new RequestRefused(message, status);
      const failure = { message, at: new Date(clock.now()) };
      await mirror.endWalk(fence, scope, { scope: { failure } }, undefined);
    }
    const suspects = read?.suspects === true ? [parents.name] : [];
    const fullWalks = walk && suspects.length === 0 ? [parents.name] : [];
    const outcome = { ...EMPTY_OUTCOME, error, suspects, fullWalks };
    if (read === undefined) return outcome;
    // The collection of items counts deleted lists among the rows of other collections.
    const { requests, rateLimited, deleted, along } = read.totals;
    const more = { requests, rateLimited, along: new Map([...along, [parents.name, deleted] as const]) };
    return { ...outcome, totals: addTotals(NO_TOTALS, more) };
  }

  #scope({ name }: ListCollection, parent: string): Scope {
    return { userId: this.#context.fence.userId, collection: name, parent };
  }
}

/** That the service does not have the list is no failure yet. @throws KeyRefused */
function listOutcome({ name }: ListCollection, result: WalkResult): ReadOutcome {
  const outcome = readOutcomeOf(name, result);
  return isUnknown(result) ? { ...outcome, error: undefined } : outcome;
}

/** Scopes that are chosen at once: few, so that one that changes meanwhile comes soon. */
const BATCH = 10;
/** Most lists that are read side by side. The budget decides the pace; this only hides latency. */
const WORKERS = 4;

/**
 * Reads scopes, a batch at a time: those that changed, and those unread longest (docs/design/plan.md, "Lists").
 * @param read reads one scope; false: it failed and is not tried again in this pass
 * @returns how many it read
 * @throws what `read` throws, when all running readings have ended
 */
export async function passOverScopes(
  store: Pick<AccountStore, 'dueScopes'>,
  options: {
    readonly lists: ListCollection;
    /** Scopes read since then are left out, unless they came due again. */
    readonly since: Date;
    /** Only scopes that a change made due, not all. */
    readonly dueOnly: boolean;
    /** Every scope is walked fully: a poll since then does not count. */
    readonly fully: boolean;
    /** Requests wait for slots: more than one worker would only take slots from the account's other walks. */
    readonly crowded: () => boolean;
    /** By the database's clock. */
    readonly now: () => Date;
    /** From then on the pass ends: the next one begins with the scopes unread longest. */
    readonly until: Date | undefined;
    /**
     * What goes first in its first batch. Batches alternate, and so must successive passes: lists that change again
     * and again then take at most half of the readings.
     */
    readonly first: 'changed' | 'unread';
    readonly signal: AbortSignal;
  },
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
