import { childrenOf, type CollectionName, type Scope, scopeName } from '../../model/collections.ts';
import { KeyRefused, LeaseLost } from '../../model/errors.ts';
import type { Random } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { Stopped } from '@research-mirror/runtime/service';
import type { Companion, Follow } from '../loops/account-service.ts';
import { HintRateGate, type Allowance } from './hint-rate-gate.ts';
import { HintReading, type HintReadingContext } from './hint-reading.ts';
import type { ReadingBudget } from './reading-budget.ts';

export interface HintDispatcherOptions extends HintReadingContext {
  /** Those that are mirrored. */
  readonly collections: readonly CollectionName[];
  readonly budget: ReadingBudget;
  readonly onFailure: (what: string, error: Error) => void;
  readonly random: Random;
}

/** An account's hints. */
export interface HintDispatcher {
  /** Ring it when a hint was stored: it is read at once. */
  readonly bell: Doorbell;
  /** Runs with the account's other loops. */
  readonly loop: Companion;
}

/** Scopes that are read side by side at most: an endpoint that does not answer holds up no other. */
const WORKERS = 4;
/** Waits (ms) before a reading that failed is tried again: doubling, with jitter. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;

/** A scope that is left alone for a while. */
interface Rest {
  readonly scope: Scope;
  /** Monotonic. */
  readonly until: number;
  readonly failures: number;
}

export function hintDispatcher(options: HintDispatcherOptions): HintDispatcher {
  const dispatcher = new Dispatcher(options);
  return { bell: dispatcher.bell, loop: (signal, follow) => dispatcher.run(signal, follow) };
}

/**
 * Reads what events named, as soon as it is due (docs/design/events.md, "Hints"). All due hints of a scope are read
 * together, one reading of a scope at a time; later hints are the next reading's. So a storm costs no more than the
 * bucket gives.
 */
class Dispatcher {
  readonly bell = new Doorbell();
  readonly #options: HintDispatcherOptions;
  readonly #gate: HintRateGate;
  readonly #reading: HintReading;
  readonly #busy = new Map<string, Scope>();
  readonly #resting = new Map<string, Rest>();
  #failures = 0;
  /** Hints of collections that are no longer mirrored are forgotten. */
  #forgotten = false;
  #alarm: AbortController | undefined;

  constructor(options: HintDispatcherOptions) {
    this.#options = options;
    this.#gate = new HintRateGate(options.budget, options.clock);
    this.#reading = new HintReading(options, this.#gate);
  }

  async run(stop: AbortSignal, follow: Follow): Promise<never> {
    const broken = new AbortController();
    const signal = AbortSignal.any([stop, broken.signal]);
    const readings = new Set<Promise<void>>();
    const begin = (scope: Scope, allowance: Allowance): void => {
      const name = scopeName(scope);
      this.#busy.set(name, scope);
      this.#gate.begins(allowance);
      const reading: Promise<void> = this.#reading
        .read(scope, allowance, follow, signal)
        .then(
          (restMs) => this.#rest(scope, restMs),
          (error: unknown) => {
            if (isFatal(error, signal)) broken.abort(error);
            else this.#retry(scope, error as Error);
          },
        )
        .finally(() => {
          this.#busy.delete(name);
          this.#gate.ended();
          readings.delete(reading);
          this.bell.ring();
        });
      readings.add(reading);
    };
    // Hints of the last run.
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

  /** Begins as many readings as may begin now, and rings again when there may be more. */
  async #beginDue(begin: (scope: Scope, allowance: Allowance) => void, signal: AbortSignal): Promise<void> {
    try {
      if (!this.#forgotten) await this.#options.store.forgetOthers(this.#options.collections);
      this.#forgotten = true;
      while (this.#busy.size < WORKERS) {
        const allowance = this.#gate.next();
        if ('waitMs' in allowance) return this.#ringIn(allowance.waitMs, signal);
        const inMs = await this.#beginNext((scope) => begin(scope, allowance));
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
    // Lists before their items: the items of a list that has just come or changed are read once.
    const behind = new Set(busy.flatMap((scope) => childrenOf(scope.collection).map(({ name }) => name)));
    const among = this.#options.collections.filter((name) => !behind.has(name));
    const next = await this.#options.store.next(among, [...busy, ...resting.map(({ scope }) => scope)]);
    if (next?.inMs === 0) begin(next.scope);
    const rested = resting.map(({ until }) => until - now);
    return Math.min(next?.inMs ?? Number.POSITIVE_INFINITY, ...rested);
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

  /** Rings in `ms`, in place of an earlier alarm. */
  #ringIn(ms: number, signal: AbortSignal): void {
    this.#alarm?.abort();
    if (!Number.isFinite(ms)) return;
    const alarm = new AbortController();
    this.#alarm = alarm;
    this.#options.clock.sleep(ms, AbortSignal.any([alarm.signal, signal])).then(
      () => this.bell.ring(),
      () => {}, // another alarm took its place, or the loop is over
    );
  }
}

/** Whether it ends the account's work, or this process's. */
function isFatal(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted || error instanceof LeaseLost || error instanceof KeyRefused;
}
