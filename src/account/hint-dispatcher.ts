import type { Clock, Random } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { Stopped } from '@research-mirror/runtime/service';
import type { NextHints } from '../mirror/hint-store.ts';
import { childrenOf, collection, type CollectionName, type Scope, scopeName } from '../model/collections.ts';
import { KeyRefused, LeaseLost } from '../model/errors.ts';
import { PRIORITY } from '../service/rate-groups.ts';
import type { AccountReader } from '../sync/account-reader.ts';
import { BURST, HintBucket, type HintStore } from '../sync/hints.ts';
import type { Follow } from './account-service.ts';

/** Number of scopes that are read side by side: an endpoint that does not answer delays no other. */
const WORKERS = 4;
/** First and longest retry delay of a failed reading, ms; it doubles, with jitter. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** Retry delay after the queue could not be read, ms. */
const LOOK_AGAIN_MS = 5_000;
/** A list with more rows (pages of 500) is read at the priority of lists, and does not count in the hints' share. */
const LARGE_LIST_ROWS = BURST * 500;

export type HintDispatcher = ReturnType<typeof hintDispatcher>;

/**
 * Reads what events named, as soon as it is due (docs/design/events.md, "Hints"). All due hints of a scope are read
 * together, one reading at a time; later hints wait for the next one. A storm costs no more than the bucket allows.
 */
export function hintDispatcher(options: {
  readonly reader: Pick<AccountReader, 'readHinted' | 'read' | 'isWalking'>;
  readonly store: HintStore;
  readonly collections: readonly CollectionName[];
  /** Number of reads that the account's budget allows in a minute. */
  readonly perMinute: () => number;
  /** `MIRROR_SETTLE`, ms: least time between two readings of all rows for hints. */
  readonly gracePeriodMs: number;
  readonly onFailure: (what: string, error: Error) => void;
  readonly clock: Clock;
  readonly random: Random;
}) {
  const { reader, store, collections, perMinute, gracePeriodMs, onFailure, clock, random } = options;
  const bell = new Doorbell();
  const bucket = new HintBucket(clock.monotonic());
  /** Scopes that are being read, by name. */
  const busy = new Map<string, Scope>();
  /** Scopes that rest until a monotonic time, by name, with the number of consecutive failures. */
  const resting = new Map<string, { scope: Scope; until: number; failures: number }>();
  /** Monotonic time of the last reading of all rows for hints, by collection. */
  const walkedAt = new Map<CollectionName, number>();

  /** Whether the scope's parent row is there and not deleted; true for a scope without parent. */
  const parentIsThere = async ({ userId, collection: name, parent }: Scope): Promise<boolean> => {
    const found = collection(name);
    if (found.kind !== 'list' || found.parent === undefined) return true;
    const parents: Scope = { userId, collection: found.parent.collection, parent: '' };
    return (await store.live(parents, [parent])).has(parent);
  };

  /** @returns time until all rows of the collection may be read for hints, ms: once in a grace period */
  const mayWalkIn = (name: CollectionName): number => {
    // A running walk read some rows before the event; after it, a cheaper reading may suffice.
    if (reader.isWalking(name)) return gracePeriodMs;
    const since = clock.monotonic() - (walkedAt.get(name) ?? Number.NEGATIVE_INFINITY);
    return Math.max(0, gracePeriodMs - since);
  };

  return {
    /** Ring it after a hint was stored: it is read at once. */
    bell,
    /** Reads hints until the signal aborts. @throws LeaseLost, KeyRefused: the account can't go on */
    run: async (stop: AbortSignal, follow: Follow): Promise<never> => {
      const broken = new AbortController();
      const signal = AbortSignal.any([stop, broken.signal]);
      const readings = new Set<Promise<void>>();
      /** Whether the error ends the account's work, or this process's. */
      const isFatal = (error: unknown): boolean =>
        signal.aborted || error instanceof LeaseLost || error instanceof KeyRefused;

      /**
       * Reads a scope's due hints once, by the cheapest requests; by a walk over all rows if nothing less covers them.
       * @param requests limit for known rows: the next reading reads the rest
       * @returns time for which the scope rests, ms
       */
      const read = async ({ scope, hints }: NextHints, requests: number): Promise<number> => {
        // A list that is not mirrored yet: its own row comes first.
        if (!(await parentIsThere(scope))) {
          bucket.spend(-1);
          await store.settle(scope, hints);
          return 0;
        }
        const keys = hints.map(({ key }) => key);
        const known = await store.live(scope, keys);
        const large = scope.parent !== '' && (await store.size(scope)) > LARGE_LIST_ROWS;
        const priority = large ? PRIORITY.LISTS : PRIORITY.HINT;
        const hinted = await reader.readHinted(scope, { keys, known, requests, priority, signal });
        const { outcome, covers, walkNeeded } = hinted;
        bucket.spend((large ? 0 : outcome.totals.requests) - 1);
        follow(outcome);
        const by = Object.groupBy(hints, ({ key }) => (covers(key) ? 'covered' : 'left'));
        const { covered = [], left = [] } = by;
        await store.settle(scope, covered);
        if (outcome.error !== undefined) throw outcome.error;
        if (!walkNeeded || left.length === 0) return 0;
        const waitMs = mayWalkIn(scope.collection);
        if (waitMs > 0) return waitMs;
        const walked = await reader.read(scope.collection, { what: 'rows', signal });
        walkedAt.set(scope.collection, clock.monotonic());
        follow(walked);
        signal.throwIfAborted();
        if (walked.error !== undefined) throw walked.error;
        await store.settle(scope, left);
        return 0;
      };

      /** Reads a scope's hints; after a failure the scope rests. @throws errors that end the account's work */
      const readOrRest = async (next: NextHints, requests: number): Promise<void> => {
        const { scope } = next;
        const name = scopeName(scope);
        try {
          const restMs = await read(next, requests);
          if (restMs > 0) resting.set(name, { scope, until: clock.monotonic() + restMs, failures: 0 });
          else resting.delete(name);
        } catch (error) {
          if (isFatal(error)) throw error;
          onFailure(`reading of hinted rows of ${name}`, error as Error);
          const failures = (resting.get(name)?.failures ?? 0) + 1;
          const waitMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures) * (0.5 + random() / 2);
          resting.set(name, { scope, until: clock.monotonic() + waitMs, failures });
        }
      };

      const begin = (next: NextHints, requests: number): void => {
        const name = scopeName(next.scope);
        busy.set(name, next.scope);
        // Pays for the first request; further ones are paid for after they were sent.
        bucket.spend(1);
        const reading = readOrRest(next, requests)
          .catch((error: unknown) => broken.abort(error))
          .finally(() => {
            busy.delete(name);
            readings.delete(reading);
            bell.ring();
          });
        readings.add(reading);
      };

      /** Begins all readings that may begin now. @returns time until the next one may, ms; Infinity: the next ring */
      const beginDue = async (): Promise<number> => {
        try {
          while (busy.size < WORKERS) {
            const now = clock.monotonic();
            const tokens = bucket.tokens(now, perMinute());
            if (tokens === 0) return bucket.waitMs(now, perMinute());
            const current = [...busy.values()];
            const waiting = [...resting.values()].filter(({ until }) => until > now);
            // Lists before their items: the items of a new or changed list are read once.
            const behind = new Set(current.flatMap((each) => childrenOf(each.collection).map(({ name }) => name)));
            const among = collections.filter((name) => !behind.has(name));
            const next = await store.next(among, [...current, ...waiting.map(({ scope }) => scope)]);
            if (next?.inMs !== 0) return Math.min(next?.inMs ?? Infinity, ...waiting.map(({ until }) => until - now));
            // A reading may have ended all work meanwhile.
            signal.throwIfAborted();
            begin(next, tokens);
          }
          return Infinity;
        } catch (error) {
          if (isFatal(error)) throw error;
          onFailure('looking for hints', error as Error);
          return LOOK_AGAIN_MS;
        }
      };

      try {
        for (;;) await bell.heardWithin(await beginDue(), clock, signal);
      } finally {
        broken.abort(new Stopped('the reading of hints'));
        await Promise.all(readings);
      }
    },
  };
}
