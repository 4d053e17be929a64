import type { StoredHint } from '../../db/events/hint-store.ts';
import { PRIORITY } from '../../budget/priorities.ts';
import type { CollectionName, Scope } from '../../model/collections.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { Stopped } from '@research-mirror/runtime/service';
import type { AccountReader } from '../account/account-reader.ts';
import type { Follow } from '../loops/account-service.ts';
import type { HintRateGate, Allowance } from './hint-rate-gate.ts';
import type { HintStore } from './account-hints.ts';
import { judgeHints, type RowState } from './judge-hints.ts';
import type { Hinted, HintedOutcome } from '../account/read-hinted.ts';

export interface HintReadingContext {
  readonly reader: Pick<AccountReader, 'userId' | 'readHinted' | 'read' | 'isWalking'>;
  readonly store: HintStore;
  /** `MIRROR_SETTLE`, milliseconds: least time between two readings of all rows for hints. */
  readonly gracePeriodMs: number;
  readonly clock: Clock;
}

/** How long (ms) a reading of late priority waits for a slot: meanwhile the scope's polls wait behind it. */
const LATE_PATIENCE_MS = 2_500;
/** Rows that one page holds. */
const PAGE_ROWS = 500;
/** Least time (ms) between two readings of all rows, however short the grace period. */
const LEAST_APART_MS = 1_000;

/** One reading of a scope's due hints: what is asked of the service, and what becomes of them. */
export class HintReading {
  readonly #context: HintReadingContext;
  readonly #gate: Pick<HintRateGate, 'took'>;
  /** When all rows of a collection were last read for hints, monotonic. */
  readonly #walkedAt = new Map<CollectionName, number>();

  constructor(context: HintReadingContext, gate: Pick<HintRateGate, 'took'>) {
    this.#context = context;
    this.#gate = gate;
  }

  /**
   * @param follow has done what the reading asks for
   * @returns how long (ms) the scope is to be left alone
   * @throws LeaseLost, KeyRefused: the account can't go on; the reading's error, with its hints as they were
   */
  async read(scope: Scope, allowance: Allowance, follow: Follow, signal: AbortSignal): Promise<number> {
    const { store } = this.#context;
    const hints = await store.due(scope);
    const keys = hints.map(({ key }) => key).filter((key) => key !== '');
    const before = await store.rows(scope, keys);
    // A list that is not mirrored yet: its own row comes first.
    if (!(await store.isThere(scope))) {
      await this.#update(scope, hints, before);
      return 0;
    }
    const known = new Set(keys.filter((key) => before.get(key)?.live === true));
    const hinted = { whole: keys.length < hints.length, keys, known };
    const { outcome, covers, walkNeeded } = await this.#ask(scope, hinted, allowance, signal);
    follow(outcome);
    const covered = hints.filter(({ key }) => covers(key));
    await this.#update(scope, covered, before);
    if (outcome.error !== undefined) throw outcome.error;
    const left = hints.filter((hint) => !covered.includes(hint));
    if (!walkNeeded || left.length === 0) return 0;
    const waitMs = this.#mayWalkIn(scope.collection);
    if (waitMs > 0) return waitMs;
    await this.#walk(scope.collection, follow, signal);
    await this.#update(scope, left, before);
    return 0;
  }

  /**
   * The cheapest reading, within its allowance. A list that is too large for that is read at the priority of lists.
   */
  async #ask(
    scope: Scope,
    hinted: Hinted,
    allowance: Allowance,
    signal: AbortSignal,
  ): Promise<HintedOutcome> {
    const { store, reader, clock } = this.#context;
    const first = allowance.priority === PRIORITY.HINT;
    const large = scope.parent !== '' && (await store.size(scope)) > allowance.requests * PAGE_ROWS;
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
        requests: allowance.requests,
        priority: large && first ? PRIORITY.LISTS : allowance.priority,
        signal: AbortSignal.any([signal, impatient.signal]),
      });
      this.#gate.took(allowance, large ? 0 : read.outcome.totals.requests);
      return read;
    } finally {
      over.abort();
    }
  }

  /** How long (ms) until all rows of the collection may be read for hints: at most once in a grace period. */
  #mayWalkIn(name: CollectionName): number {
    const { reader, clock, gracePeriodMs } = this.#context;
    const least = Math.max(gracePeriodMs, LEAST_APART_MS);
    // A walk that is under way read some rows before the event; after it, a cheaper reading may do.
    if (reader.isWalking(name)) return least;
    const since = clock.monotonic() - (this.#walkedAt.get(name) ?? Number.NEGATIVE_INFINITY);
    return Math.max(0, least - since);
  }

  async #walk(name: CollectionName, follow: Follow, signal: AbortSignal): Promise<void> {
    const { reader, clock } = this.#context;
    const outcome = await reader.read(name, { what: 'rows', signal });
    this.#walkedAt.set(name, clock.monotonic());
    follow(outcome);
    signal.throwIfAborted();
    if (outcome.error !== undefined) throw outcome.error;
  }

  /** Judges the hints that a reading covered, by what their rows are now. */
  async #update(
    scope: Scope,
    covered: readonly StoredHint[],
    before: ReadonlyMap<string, RowState>,
  ): Promise<void> {
    if (covered.length === 0) return;
    const { store } = this.#context;
    const keys = covered.map(({ key }) => key).filter((key) => key !== '');
    const after = await store.rows(scope, keys);
    const scopeChangedAt = keys.length < covered.length ? await store.lastChange(scope) : undefined;
    await store.update(scope, (now) => judgeHints(covered, { now, before, after, scopeChangedAt }));
  }
}
