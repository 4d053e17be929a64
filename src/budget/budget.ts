import type { Clock } from '@research-mirror/runtime/clock';
import type { Priority } from './priorities.ts';
import type { RateGroup } from './rate-groups.ts';
import type { BudgetStore, FreedSlots, LoadedBudget, StoredGroup } from './store/store.ts';

/** What a budget is made of: `createBudget(options)` in create-budget.ts. */
export interface BudgetOptions {
  /** Hash of the API key: budgets never see the key. */
  readonly keyHash: string;
  readonly clock: Clock;
  /** Part of every limit that this program may use: max(1, ⌊share × limit⌋) requests. */
  readonly share: number;
  readonly store: BudgetStore;
  /** What the store has of the key now. */
  readonly loaded: LoadedBudget;
  readonly onEvent: (event: BudgetEvent) => void;
}

/** The rate limits of ONE API key, over all its endpoint groups: no request without a reserved slot (invariant 6). */
export interface Budget {
  /**
   * Waits for a slot of `group`, calls `send` and returns its answer. The waiting task is chosen when the slot is
   * free: highest priority first, then in order of arrival. A reservation is committed before `send` is called.
   * @throws what `send` throws; the signal's reason, at once, when it is aborted (a waiting task then leaves the
   *   queue, a sent one keeps its slot); what the store throws when nothing can be reserved
   */
  run<T extends AnswerMeta>(request: BudgetRequest, send: Send<T>): Promise<T>;

  /**
   * Takes what the next page's transaction is to store; undefined: nothing. If that transaction fails, or its outcome
   * is unknown, give it back with `putBack`.
   */
  takeFreed(): FreedSlots | undefined;
  putBack(freed: FreedSlots): void;

  /** Stores it without a page: when idle, and at a stop. @throws what the store throws */
  flush(): Promise<void>;

  snapshot(): BudgetSnapshot;

  /**
   * Ends all timers; waiting tasks reject with `reason`. The next `flush` stores unused reservations as free. The
   * caller aborts requests under way.
   */
  close(reason: Error): void;
}

export interface BudgetRequest {
  readonly group: RateGroup;
  /** Method and path with `{id}` for IDs: the service's `Limit` is kept per route. */
  readonly route: string;
  readonly priority: Priority;
  readonly signal: AbortSignal;
}

/**
 * Sends one HTTP request, with neither retries nor redirects.
 * Resolves when there is an answer, whatever its status; throws when there is none (reset, time-out). Only a NotSent
 * frees the slot at once.
 */
export type Send<T extends AnswerMeta> = (signal: AbortSignal) => Promise<T>;

/** What the budget reads of an answer. */
export interface AnswerMeta {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Monotonic clock, when the headers had come: the slot's window begins (docs/design/rate-limit.md, "Slots"). */
  readonly receivedAt: number;
}

/** Header fields by lower-case name, as undici and Node give them. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What status page and metrics show of a key's budget. */
export interface BudgetSnapshot {
  readonly groups: readonly GroupSnapshot[];
  /** The learnt limit over all endpoints; undefined: none is known. */
  readonly overallLimit: number | undefined;
}

export interface GroupSnapshot {
  readonly group: RateGroup;
  /** The service's limit for 60 s, as far as known. */
  readonly limit: number;
  /** Requests in 60 s that this budget allows itself, after share, other users and 429s. */
  readonly size: number;
  /** Why that is not its share of the limit of the specification or above, one clause; undefined: it is. */
  readonly why: string | undefined;
  /** Milliseconds until that is over; undefined: nobody knows. */
  readonly forMs: number | undefined;
  /** Slots in use now, and how many of them are requests under way. */
  readonly used: number;
  readonly inFlight: number;
  /** Tasks waiting for a slot. */
  readonly waiting: number;
  /** Milliseconds until the next slot comes free; 0: one is free; undefined: it depends on an answer. */
  readonly freeInMs: number | undefined;
  /** Requests of other users of the key in the last window. */
  readonly foreignUse: number;
  /** Milliseconds between two requests, after a 429 that nothing explains; undefined: not paced. */
  readonly pacedMs: number | undefined;
  /** Milliseconds for which a Retry-After still stops the group; 0: none does. */
  readonly pausedForMs: number;
  readonly sent: number;
  /** Answers with status 429 since this budget was made. */
  readonly refused: number;
}

/** News for the operator; `message` is one line for the log. */
export interface BudgetEvent {
  readonly kind:
    | 'refused'
    | 'paced'
    | 'limit-changed'
    | 'limit-ignored'
    | 'remaining-ignored'
    | 'overall-limit';
  readonly group: StoredGroup;
  readonly message: string;
}
