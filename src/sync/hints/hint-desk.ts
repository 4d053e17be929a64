import { PRIORITY } from '../../budget/priorities.ts';
import { childrenOf, type CollectionName, type Scope, scopeName } from '../../model/collections.ts';
import type { StoredHint } from '../../db/hint-store.ts';
import { KeyRefused, LeaseLost } from '../../model/errors.ts';
import type { Clock, Random } from '../../runtime/clock.ts';
import { Doorbell } from '../../runtime/doorbell.ts';
import { Stopped } from '../../runtime/service.ts';
import type { AccountReader } from '../account-reader.ts';
import type { Companion, Follow } from '../account-service.ts';
import { HintPermits, type Permit } from './hint-permits.ts';
import type { HintStore } from './hint-store.ts';
import { judgeHints, type RowState } from './judge-hints.ts';
import type { Hinted, HintedOutcome } from './read-hinted.ts';
import type { ReadingBudget } from './reading-budget.ts';

export interface HintDeskOptions {
  readonly reader: Pick<AccountReader, 'userId' | 'readHinted' | 'read' | 'isWalking'>;
  readonly store: HintStore;
  /** Those that are mirrored. */
  readonly collections: readonly CollectionName[];
  readonly budget: ReadingBudget;
  /** `MIRROR_SETTLE`, milliseconds: how seldom all rows are read for hints, where nothing less will do. */
  readonly settleMs: number;
  readonly onFailure: (what: string, error: Error) => void;
  readonly clock: Clock;
  readonly random: Random;
}

/** An account's hints. */
export interface HintDesk {
  /** To be rung when something was hinted: whoever did, it is read at once. */
  readonly bell: Doorbell;
  /** Runs with the account's other loops. */
  readonly loop: Companion;
}

/** Scopes that are read side by side at most: an endpoint that does not answer holds up no other. */
const WORKERS = 4;
/** How long (ms) a late reading waits for a slot that nobody else wants: meanwhile the scope's polls stand behind it. */
const LATE_PATIENCE_MS = 2_500;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** Rows that one page holds. */
const PAGE_ROWS = 500;

/** A scope that is left alone for a while. */
interface Rest {
  readonly scope: Scope;
  /** Monotonic. */
  readonly until: number;
  readonly failures: number;
}

export function hintDesk(options: HintDeskOptions): HintDesk {
  const desk = new Desk(options);
  return { bell: desk.bell, loop: (signal, follow) => desk.run(signal, follow) };
}

/**
 * Reads what events named, as soon as it is due (design 6, 8). All due hints of a scope are read together, one reading of
 * a scope at a time: what is hinted meanwhile is read by the next. So a storm costs no more than the bucket gives.
 */
class Desk {
  readonly bell = new Doorbell();
  readonly #options: HintDeskOptions;
  readonly #permits: HintPermits;
  readonly #busy = new Map<string, Scope>();
  readonly #resting = new Map<string, Rest>();
  /** When all rows of a collection were last read for hints, monotonic. */
  readonly #walkedAt = new Map<CollectionName, number>();
  #failures = 0;
  /** What an earlier configuration mirrored, and this one does not, is forgotten. */
  #forgotten = false;
  #alarm: AbortController | undefined;

  constructor(options: HintDeskOptions) {
    this.#options = options;
    this.#permits = new HintPermits(options.budget, options.clock);
  }

  async run(stop: AbortSignal, follow: Follow): Promise<never> {
    const broken = new AbortController();
    const signal = AbortSignal.any([stop, broken.signal]);
    const readings = new Set<Promise<void>>();
    const begin = (scope: Scope, permit: Permit): void => {
      const name = scopeName(scope);
      this.#busy.set(name, scope);
      this.#permits.begins(permit);
      const reading: Promise<void> = this.#read(scope, permit, follow, signal)
        .then(
          (restMs) => this.#rest(scope, restMs),
          (error: unknown) => {
            if (isFatal(error, signal)) broken.abort(error);
            else this.#retry(scope, error as Error);
          },
        )
        .finally(() => {
          this.#busy.delete(name);
          this.#permits.ended();
          readings.delete(reading);
          this.bell.ring();
        });
      readings.add(reading);
    };
    // What was left when the account was run last.
    this.bell.ring();
    try {
      for (;;) {
        await this.bell.heard(signal);
        await this.#beginDue(begin, signal);
      }
    } finally {
      this.#alarm?.abort();
      broken.abort(new Stopped('the reading of hints'));
      await Promise.all(readings);
    }
  }

  /** Begins as many readings as may go now, and sees to it that somebody looks again for the rest. */
  async #beginDue(begin: (scope: Scope, permit: Permit) => void, signal: AbortSignal): Promise<void> {
    try {
      if (!this.#forgotten) await this.#options.store.forgetOthers(this.#options.collections);
      this.#forgotten = true;
      while (this.#busy.size < WORKERS) {
        const permit = this.#permits.next();
        if ('waitMs' in permit) return this.#ringIn(permit.waitMs, signal);
        const inMs = await this.#beginNext((scope) => begin(scope, permit));
        if (inMs > 0) return this.#ringIn(inMs, signal);
        this.#failures = 0;
      }
    } catch (error) {
      if (isFatal(error, signal)) throw error;
      this.#options.onFailure('looking for hints', error as Error);
      this.#failures += 1;
      this.#ringIn(this.#retryMs(this.#failures), signal);
    }
  }

  /** @returns when (ms) there will be a scope to begin with; 0: there was one */
  async #beginNext(begin: (scope: Scope) => void): Promise<number> {
    const now = this.#options.clock.monotonic();
    const busy = [...this.#busy.values()];
    const resting = [...this.#resting.values()].filter(({ until }) => until > now);
    // Lists before their items: those of one that has just changed, or come, are read once.
    const behind = new Set(busy.flatMap((scope) => childrenOf(scope.collection).map(({ name }) => name)));
    const among = this.#options.collections.filter((name) => !behind.has(name));
    const next = await this.#options.store.next(among, [...busy, ...resting.map(({ scope }) => scope)]);
    if (next?.inMs === 0) begin(next.scope);
    const rested = resting.map(({ until }) => until - now);
    return Math.min(next?.inMs ?? Number.POSITIVE_INFINITY, ...rested);
  }

  /** @returns how long (ms) the scope is to be left alone */
  async #read(scope: Scope, permit: Permit, follow: Follow, signal: AbortSignal): Promise<number> {
    const { store } = this.#options;
    const hints = await store.due(scope);
    const keys = hints.map(({ key }) => key).filter((key) => key !== '');
    const before = await store.rows(scope, keys);
    // Of a list that is not here there is nothing to read yet: its own row comes first.
    if (!(await store.isThere(scope))) {
      await this.#settle(scope, hints, before);
      return 0;
    }
    const known = new Set(keys.filter((key) => before.get(key)?.live === true));
    const hinted = { whole: keys.length < hints.length, keys, known };
    const { outcome, tellsOf, walkNeeded } = await this.#ask(scope, hinted, permit, signal);
    follow(outcome);
    const told = hints.filter(({ key }) => tellsOf(key));
    await this.#settle(scope, told, before);
    if (outcome.error !== undefined) throw outcome.error;
    const left = hints.filter((hint) => !told.includes(hint));
    if (!walkNeeded || left.length === 0) return 0;
    const waitMs = this.#mayWalkIn(scope.collection);
    if (waitMs > 0) return waitMs;
    await this.#walk(scope.collection, follow, signal);
    await this.#settle(scope, left, before);
    return 0;
  }

  /**
   * The cheapest reading, at the permit's priority; what it took beyond the permit's one request is owed. A list that is
   * too large for that is read as lists are.
   */
  async #ask(scope: Scope, hinted: Hinted, permit: Permit, signal: AbortSignal): Promise<HintedOutcome> {
    const { store, reader, clock } = this.#options;
    const first = permit.priority === PRIORITY.HINT;
    const large = scope.parent !== '' && (await store.size(scope)) > permit.requests * PAGE_ROWS;
    const over = new AbortController();
    const impatient = new AbortController();
    if (!first) {
      clock.sleep(LATE_PATIENCE_MS, over.signal).then(
        () => impatient.abort(new Stopped('a late reading of hints')),
        () => {}, // it has ended
      );
    }
    try {
      const read = await reader.readHinted(scope.collection, {
        parent: scope.parent,
        hinted,
        requests: permit.requests,
        priority: large && first ? PRIORITY.LISTS : permit.priority,
        signal: AbortSignal.any([signal, impatient.signal]),
      });
      this.#permits.took(permit, large ? 0 : read.outcome.totals.requests);
      return read;
    } finally {
      over.abort();
    }
  }

  /** How long (ms) until all rows of the collection may be read for hints: at most once in a settle time. */
  #mayWalkIn(name: CollectionName): number {
    const { reader, clock, settleMs } = this.#options;
    const least = Math.max(settleMs, FIRST_RETRY_MS);
    // One that is under way read some of the rows before the event; when it has ended, less may do.
    if (reader.isWalking(name)) return least;
    const since = clock.monotonic() - (this.#walkedAt.get(name) ?? Number.NEGATIVE_INFINITY);
    return Math.max(0, least - since);
  }

  async #walk(name: CollectionName, follow: Follow, signal: AbortSignal): Promise<void> {
    const { reader, clock } = this.#options;
    const outcome = await reader.read(name, { what: 'rows', signal });
    this.#walkedAt.set(name, clock.monotonic());
    follow(outcome);
    signal.throwIfAborted();
    if (outcome.error !== undefined) throw outcome.error;
  }

  /** What the rows say now of hints that a reading told of. */
  async #settle(
    scope: Scope,
    told: readonly StoredHint[],
    before: ReadonlyMap<string, RowState>,
  ): Promise<void> {
    if (told.length === 0) return;
    const { store } = this.#options;
    const keys = told.map(({ key }) => key).filter((key) => key !== '');
    const after = await store.rows(scope, keys);
    const scopeChangedAt = keys.length < told.length ? await store.lastChange(scope) : undefined;
    await store.settle(scope, (now) => judgeHints(told, { now, before, after, scopeChangedAt }));
  }

  #rest(scope: Scope, ms: number): void {
    const until = this.#options.clock.monotonic() + ms;
    if (ms > 0) this.#resting.set(scopeName(scope), { scope, until, failures: 0 });
    else this.#resting.delete(scopeName(scope));
  }

  #retry(scope: Scope, error: Error): void {
    const name = scopeName(scope);
    const failures = (this.#resting.get(name)?.failures ?? 0) + 1;
    this.#options.onFailure(`hinted reading of ${name}`, error);
    const until = this.#options.clock.monotonic() + this.#retryMs(failures);
    this.#resting.set(name, { scope, until, failures });
  }

  #retryMs(failures: number): number {
    const bound = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
    return bound * (0.5 + this.#options.random() / 2);
  }

  /** Looks again in `ms`; an earlier appointment is void. */
  #ringIn(ms: number, signal: AbortSignal): void {
    this.#alarm?.abort();
    if (!Number.isFinite(ms)) return;
    const alarm = new AbortController();
    this.#alarm = alarm;
    this.#options.clock.sleep(ms, AbortSignal.any([alarm.signal, signal])).then(
      () => this.bell.ring(),
      () => {}, // void, or over
    );
  }
}

/** Whether it ends the account's work, or this process's. */
function isFatal(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || error instanceof LeaseLost || error instanceof KeyRefused;
}
