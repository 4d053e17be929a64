import { PRIORITY } from '../service/rate-groups.ts';
import type { NextHints } from '../mirror/hint-store.ts';
import { childrenOf, collection, type CollectionName, type Scope, scopeName } from '../model/collections.ts';
import { KeyRefused, LeaseLost } from '../model/errors.ts';
import type { Clock, Random } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { Stopped } from '@research-mirror/runtime/service';
import type { AccountReader } from '../sync/account-reader.ts';
import type { Follow } from './account-service.ts';
import { BURST, HintBucket, type HintStore } from '../sync/hints.ts';

interface HintDispatcherOptions {
  readonly reader: Pick<AccountReader, 'readHinted' | 'read' | 'isWalking'>;
  readonly store: HintStore;
  /** Those that are mirrored. */
  readonly collections: readonly CollectionName[];
  /** Reads that the account's budget allows in a minute. */
  readonly perMinute: () => number;
  /** `MIRROR_SETTLE`, milliseconds: least time between two readings of all rows for hints. */
  readonly gracePeriodMs: number;
  readonly onFailure: (what: string, error: Error) => void;
  readonly clock: Clock;
  readonly random: Random;
}

/** Scopes that are read side by side at most: an endpoint that does not answer holds up no other. */
const WORKERS = 4;
/** Waits (ms) before a reading that failed is tried again: doubling, with jitter. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** Wait (ms) after the queue could not be looked into. */
const LOOK_AGAIN_MS = 5_000;
/** A list of more rows (pages of 500) is read at the priority of lists, and not within the hints' part. */
const LARGE_LIST_ROWS = BURST * 500;

/**
 * Reads what events named, as soon as it is due (docs/design/events.md, "Hints"). All due hints of a scope are read
 * together, one reading of a scope at a time; later hints are the next reading's. So a storm costs no more than the
 * bucket gives.
 */
export class HintDispatcher {
  /** Ring it when a hint was stored: it is read at once. */
  readonly bell = new Doorbell();
  readonly #options: HintDispatcherOptions;
  readonly #bucket: HintBucket;
  /** Scopes that are being read, by name. */
  readonly #busy = new Map<string, Scope>();
  /** Scopes that are left alone until a monotonic moment, by name; `failures` in a row is why, or 0. */
  readonly #resting = new Map<string, { scope: Scope; until: number; failures: number }>();
  /** When all rows of a collection were last read for hints, monotonic. */
  readonly #walkedAt = new Map<CollectionName, number>();

  constructor(options: HintDispatcherOptions) {
    this.#options = options;
    this.#bucket = new HintBucket(options.clock.monotonic());
  }

  /**
   * Reads hints until the signal aborts.
   * @param follow has done what the readings ask for
   * @throws LeaseLost, KeyRefused: the account can't go on
   */
  async run(stop: AbortSignal, follow: Follow): Promise<never> {
    const broken = new AbortController();
    const signal = AbortSignal.any([stop, broken.signal]);
    const readings = new Set<Promise<void>>();
    const begin = (next: NextHints, requests: number): void => {
      const name = scopeName(next.scope);
      this.#busy.set(name, next.scope);
      // It pays for its first request, and for more when it has sent them.
      this.#bucket.spend(1);
      const reading = this.#readOrRest(next, requests, follow, signal)
        .catch((error: unknown) => broken.abort(error))
        .finally(() => {
          this.#busy.delete(name);
          readings.delete(reading);
          this.bell.ring();
        });
      readings.add(reading);
    };
    try {
      for (;;) {
        const waitMs = await this.#beginDue(begin, signal);
        await this.bell.heardWithin(waitMs, this.#options.clock, signal);
      }
    } finally {
      broken.abort(new Stopped('the reading of hints'));
      await Promise.all(readings);
    }
  }

  /**
   * Begins as many readings as may begin now.
   * @returns when (ms) there may be more; Infinity: when the bell rings
   */
  async #beginDue(begin: (next: NextHints, requests: number) => void, signal: AbortSignal): Promise<number> {
    const { clock, collections, perMinute, store } = this.#options;
    try {
      while (this.#busy.size < WORKERS) {
        const now = clock.monotonic();
        const tokens = this.#bucket.tokens(now, perMinute());
        if (tokens === 0) return this.#bucket.waitMs(now, perMinute());
        const busy = [...this.#busy.values()];
        const resting = [...this.#resting.values()].filter(({ until }) => until > now);
        // Lists before their items: the items of a list that has just come or changed are read once.
        const behind = new Set(busy.flatMap((scope) => childrenOf(scope.collection).map(({ name }) => name)));
        const among = collections.filter((name) => !behind.has(name));
        const next = await store.next(among, [...busy, ...resting.map(({ scope }) => scope)]);
        if (next?.inMs !== 0) {
          return Math.min(next?.inMs ?? Number.POSITIVE_INFINITY, ...resting.map(({ until }) => until - now));
        }
        // A reading may have ended it all meanwhile.
        signal.throwIfAborted();
        begin(next, tokens);
      }
      return Number.POSITIVE_INFINITY;
    } catch (error) {
      if (isFatal(error, signal)) throw error;
      this.#options.onFailure('looking for hints', error as Error);
      return LOOK_AGAIN_MS;
    }
  }

  /** Reads a scope's hints; after a failure the scope rests. @throws what ends the account's work */
  async #readOrRest(next: NextHints, requests: number, follow: Follow, signal: AbortSignal): Promise<void> {
    const { clock, onFailure, random } = this.#options;
    const { scope } = next;
    const name = scopeName(scope);
    try {
      const restMs = await this.#read(next, requests, follow, signal);
      if (restMs > 0) this.#resting.set(name, { scope, until: clock.monotonic() + restMs, failures: 0 });
      else this.#resting.delete(name);
    } catch (error) {
      if (isFatal(error, signal)) throw error;
      onFailure(`hinted reading of ${name}`, error as Error);
      const failures = (this.#resting.get(name)?.failures ?? 0) + 1;
      const waitMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures) * (0.5 + random() / 2);
      this.#resting.set(name, { scope, until: clock.monotonic() + waitMs, failures });
    }
  }

  /**
   * One reading of a scope's due hints: by the cheapest requests, and where only a walk over all rows can cover them,
   * by that.
   * @param requests for known rows, at most: the next reading reads the rest
   * @returns how long (ms) the scope is to be left alone
   */
  async #read(
    { scope, hints }: NextHints,
    requests: number,
    follow: Follow,
    signal: AbortSignal,
  ): Promise<number> {
    const { clock, reader, store } = this.#options;
    // A list that is not mirrored yet: its own row comes first.
    if (!(await this.#parentIsThere(scope))) {
      this.#bucket.spend(-1);
      await store.settle(scope, hints);
      return 0;
    }
    const keys = hints.map(({ key }) => key);
    const known = await store.live(scope, keys);
    const large = scope.parent !== '' && (await store.size(scope)) > LARGE_LIST_ROWS;
    const { outcome, covers, walkNeeded } = await reader.readHinted(scope, {
      keys,
      known,
      requests,
      priority: large ? PRIORITY.LISTS : PRIORITY.HINT,
      signal,
    });
    this.#bucket.spend((large ? 0 : outcome.totals.requests) - 1);
    follow(outcome);
    await store.settle(
      scope,
      hints.filter(({ key }) => covers(key)),
    );
    if (outcome.error !== undefined) throw outcome.error;
    const left = hints.filter(({ key }) => !covers(key));
    if (!walkNeeded || left.length === 0) return 0;
    const waitMs = this.#mayWalkIn(scope.collection);
    if (waitMs > 0) return waitMs;
    const walked = await reader.read(scope.collection, { what: 'rows', signal });
    this.#walkedAt.set(scope.collection, clock.monotonic());
    follow(walked);
    signal.throwIfAborted();
    if (walked.error !== undefined) throw walked.error;
    await store.settle(scope, left);
    return 0;
  }

  /** The scope's parent row is there and not deleted; true for a scope without parent. */
  async #parentIsThere({ userId, collection: name, parent }: Scope): Promise<boolean> {
    const found = collection(name);
    if (found.kind !== 'list' || found.parent === undefined) return true;
    const parents: Scope = { userId, collection: found.parent.collection, parent: '' };
    return (await this.#options.store.live(parents, [parent])).has(parent);
  }

  /** How long (ms) until all rows of the collection may be read for hints: at most once in a grace period. */
  #mayWalkIn(name: CollectionName): number {
    const { reader, clock, gracePeriodMs } = this.#options;
    // A walk that is under way read some rows before the event; after it, a cheaper reading may do.
    if (reader.isWalking(name)) return gracePeriodMs;
    const since = clock.monotonic() - (this.#walkedAt.get(name) ?? Number.NEGATIVE_INFINITY);
    return Math.max(0, gracePeriodMs - since);
  }
}

/** Whether it ends the account's work, or this process's. */
function isFatal(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || error instanceof LeaseLost || error instanceof KeyRefused;
}
