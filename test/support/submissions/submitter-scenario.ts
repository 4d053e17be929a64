import { sendOnce, type OnceRequest } from '../../../src/service/attempt.ts';
import type { HttpAnswer, HttpRequest } from '../../../src/service/transport.ts';
import { Budget } from '../../../src/service/budget.ts';
import { defaultLimit, RATE_GROUPS, rateGroup, type RateGroup } from '../../../src/service/rate-groups.ts';
import { KeyRefused, LeaseLost, TransportError } from '../../../src/model/errors.ts';
import {
  type ClaimedSubmission,
  OPERATION_NAMES,
  type OperationName,
  type QueuedSubmission,
  type SubmissionOutcome,
  type SubmissionState,
  type SubmissionStore,
} from '../../../src/model/submission.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { Stopped } from '@research-mirror/runtime/service';
import { submitter, type SubmitterOptions } from '../../../src/submissions/submitter.ts';
import { type Limiter, slidingLog } from '../budget/limiters.ts';
import { MemoryBudgetStore } from '../budget/memory-budget-store.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';

/** A row of `submissions` in memory. */
interface MemorySubmission {
  readonly id: string;
  readonly operation: OperationName;
  state: SubmissionState;
  notBefore: number;
  sendBefore: number;
  error: string | undefined;
  status: number | undefined;
  body: string | undefined;
  /** Its states in order. */
  readonly states: SubmissionState[];
}

/** How long (ms) a claim is valid, as in the database's store. */
const SEND_WITHIN_MS = 5_000;

/** Submissions of one account in memory, as the database's store treats them, each statement of some milliseconds. */
class MemorySubmissions implements SubmissionStore {
  readonly rows: MemorySubmission[] = [];
  readonly #clock: Clock;
  /** Before and after the moment at which a statement counts, milliseconds. */
  statementMs: () => number = () => 1;
  /** When set, every statement fails with it. */
  failure: Error | undefined;
  recoveries = 0;
  #owner = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(operation: OperationName): MemorySubmission {
    const row: MemorySubmission = {
      id: String(this.rows.length + 1),
      operation,
      state: 'queued',
      notBefore: Number.NEGATIVE_INFINITY,
      sendBefore: Number.NEGATIVE_INFINITY,
      error: undefined,
      status: undefined,
      body: undefined,
      states: ['queued'],
    };
    this.rows.push(row);
    return row;
  }

  async queued(limit: number): Promise<readonly QueuedSubmission[]> {
    await this.#statement();
    const now = this.#clock.monotonic();
    const due = this.rows.filter((row) => row.state === 'queued' && row.notBefore <= now);
    return OPERATION_NAMES.flatMap((name) => due.filter((row) => row.operation === name).slice(0, limit))
      .toSorted((a, b) => Number(a.id) - Number(b.id))
      .map(({ id, operation }) => ({ id, operation, targetId: 't', requestId: `request ${id}` }));
  }

  async claim(id: string): Promise<ClaimedSubmission | undefined> {
    await this.#statement();
    const row = this.rows.find((each) => each.id === id);
    const claimed = row !== undefined && row.state === 'queued';
    if (claimed) {
      this.#move(row, 'sending');
      row.sendBefore = this.#clock.monotonic() + SEND_WITHIN_MS;
    }
    await this.#clock.sleep(this.statementMs());
    if (!claimed) return undefined;
    const { operation } = row;
    return {
      id,
      operation,
      targetId: 't',
      requestId: `request ${id}`,
      payload: id,
      sendBeforeMs: SEND_WITHIN_MS,
    };
  }

  async finish(id: string, outcome: SubmissionOutcome): Promise<void> {
    await this.#statement();
    const row = this.rows.find((each) => each.id === id);
    if (row === undefined || row.state !== 'sending') return;
    this.#move(row, outcome.state);
    row.error = outcome.error;
    if (outcome.state === 'queued') row.notBefore = this.#clock.monotonic() + outcome.retryInMs;
    else [row.status, row.body] = [outcome.status, outcome.body];
    await this.#clock.sleep(this.statementMs());
  }

  async recover(timeoutMs: number, inHand: readonly string[]): Promise<number | undefined> {
    await this.#statement();
    this.recoveries += 1;
    const now = this.#clock.monotonic();
    const sending = this.rows.filter((row) => row.state === 'sending' && !inHand.includes(row.id));
    const due = (row: MemorySubmission): number => row.sendBefore + timeoutMs + 30_000 - now;
    for (const row of sending) if (due(row) <= 0) this.#move(row, 'unknown');
    const left = sending.filter((row) => row.state === 'sending').map(due);
    return left.length === 0 ? undefined : Math.max(1, Math.min(...left));
  }

  /** Another process takes the account over: statements of earlier ones have no effect from now on (the fence). */
  newOwner(): void {
    this.#owner += 1;
  }

  cancel(id: string): void {
    const row = this.rows.find((each) => each.id === id);
    if (row?.state === 'queued') this.#move(row, 'cancelled');
  }

  #move(row: MemorySubmission, state: SubmissionState): void {
    row.state = state;
    row.states.push(state);
  }

  async #statement(): Promise<void> {
    const owner = this.#owner;
    await this.#clock.sleep(this.statementMs());
    if (this.failure !== undefined) throw this.failure;
    if (owner !== this.#owner) throw new LeaseLost('another process has taken the account over');
  }
}

/** What the emulated service does with one request; the times are milliseconds. */
export interface Reaction {
  /** Time (ms) until the connection is made. */
  readonly connectMs?: number;
  /** The connection is refused. */
  readonly refuse?: boolean;
  /** From the request's writing to the answer. */
  readonly answerMs?: number;
  /** The connection breaks in place of the answer. */
  readonly reset?: boolean;
  /** Reading the answer throws an error that no code expects. */
  readonly defect?: boolean;
  readonly status?: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request as the service saw it. */
export interface Written {
  readonly id: string;
  readonly at: number;
  readonly group: RateGroup;
  /** By the store's clock its claim was not good any more. */
  readonly late: boolean;
  /** Undefined: no answer was given. */
  status: number | undefined;
}

interface Life {
  over: boolean;
}

export const TIMEOUT_MS = 120_000;

/**
 * The submitter of an account with its real budget and `sendOnce`, in virtual time: over a store in memory, against a
 * service with a strict sliding log for each endpoint group.
 */
export class SubmitterScenario {
  readonly clock = new VirtualClock();
  readonly store = new MemorySubmissions(this.clock);
  readonly bell = new Doorbell();
  readonly written: Written[] = [];
  readonly refused: Written[] = [];
  readonly lines: string[] = [];
  readonly done: string[] = [];
  readonly explained: string[] = [];
  react: (id: string, attempt: number) => Reaction = () => ({});
  creditsTooLow: string | undefined;
  explaining: () => Promise<void> = () => Promise.resolve();
  enabled = true;
  ownsUntil = Number.POSITIVE_INFINITY;
  /** The account's keys, and whether a ping accepts them; 'silent': no ping is answered. */
  keys: Record<string, boolean | 'silent'> = { k: true };
  readonly #refusedKeys = new Set<string>();
  readonly #attempts = new Map<string, number>();
  readonly #limiters: Record<string, Limiter> = Object.fromEntries(
    RATE_GROUPS.map((name) => [name, slidingLog(defaultLimit(name))]),
  );
  readonly #budgetStore = new MemoryBudgetStore(this.clock);
  budget: Budget | undefined;

  queue(count: number, operation: OperationName = 'sequence'): void {
    for (let i = 0; i < count; i++) this.store.add(operation);
  }

  /** Of every submission, in the order in which they were queued. */
  states(): readonly SubmissionState[] {
    return this.store.rows.map(({ state }) => state);
  }

  /** Starts a process that sends. `ended` resolves with what ended it, never after a kill (SIGKILL). */
  async start() {
    const budget = new Budget({
      keyHash: 'k',
      clock: this.clock,
      share: 1,
      store: this.#budgetStore,
      loaded: await this.#budgetStore.load('k'),
      onEvent: () => {},
    });
    this.budget = budget;
    this.store.newOwner();
    const stop = new AbortController();
    const life = { over: false };
    const ended = submitter(this.#options(budget, life))(stop.signal).catch((error: unknown) => error);
    const kill = (): void => {
      life.over = true;
      budget.close(new Error('killed'));
    };
    return { stop, kill, ended };
  }

  /** Runs until no submission is open any more. @returns the moment */
  async untilDone(limitMs: number = 3_600_000): Promise<number> {
    const end = this.clock.monotonic() + limitMs;
    const isOpen = (): boolean =>
      this.store.rows.some(({ state }) => state === 'queued' || state === 'sending');
    while (isOpen()) {
      if (this.clock.monotonic() > end) throw new Error('submissions are still open');
      await this.clock.advance(50);
    }
    return this.clock.monotonic();
  }

  end({ stop }: { readonly stop: AbortController }): void {
    stop.abort(new Stopped('the test'));
  }

  slotsUsed(group: RateGroup): number | undefined {
    return this.budget?.snapshot().groups.find((each) => each.group === group)?.used;
  }

  #options(budget: Budget, life: Life): SubmitterOptions {
    return {
      source: {
        once: async (request) => {
          const keyHash = Object.keys(this.keys).find((key) => !this.#refusedKeys.has(key));
          if (keyHash === undefined) throw new KeyRefused('every API key of the account is refused', 401);
          const answer = await this.#once(budget, request, life);
          return answer === undefined ? undefined : { ...answer, keyHash };
        },
        isGood: async (keyHash) => {
          const state = this.keys[keyHash];
          if (state === 'silent') throw new TransportError('reset');
          if (state !== true) this.#refusedKeys.add(keyHash);
          return state === true;
        },
      },
      store: mortal(this.store, life),
      clock: this.clock,
      whyCreditsTooLow: () => Promise.resolve(this.creditsTooLow),
      explainWait: (why) => {
        this.explained.push(why ?? 'nothing');
        return this.explaining();
      },
      ownsUntil: () => this.ownsUntil,
      bell: this.bell,
      enabled: this.enabled,
      timeoutMs: TIMEOUT_MS,
      log: {
        info: (line: string) => this.lines.push(line),
        warn: (line: string) => this.lines.push(line),
      },
      onDone: ({ operation, state }) => this.done.push(`${operation} ${state}`),
    };
  }

  #once(budget: Budget, request: OnceRequest, life: Life) {
    const { clock } = this;
    const transport = { send: (sent: HttpRequest) => this.#serve(sent, request.route, life) };
    return sendOnce({ transport, key: 'key', budget, clock, scrub: String }, request);
  }

  /** The wire and the service. */
  async #serve(request: HttpRequest, route: string, life: Life): Promise<HttpAnswer> {
    const { clock } = this;
    const id = request.body ?? '';
    const attempt = (this.#attempts.get(id) ?? 0) + 1;
    this.#attempts.set(id, attempt);
    const reaction = this.react(id, attempt);
    await clock.sleep(reaction.connectMs ?? 5, request.signal);
    if (life.over) return await FOR_EVER;
    if (reaction.refuse === true) throw new TransportError('refused the connection', { sent: false });
    if (request.mayWrite?.() === false)
      throw new TransportError('not sent: it was too late for it', { sent: false });
    const group = rateGroup(request.method, route);
    const at = clock.monotonic();
    const late = (this.store.rows.find((row) => row.id === id)?.sendBefore ?? 0) <= at;
    const written: Written = { id, at, group, late, status: undefined };
    const verdict = this.#limiters[group]?.ask(at);
    (verdict?.accepted === true ? this.written : this.refused).push(written);
    await clock.sleep(reaction.answerMs ?? 50, request.signal);
    if (reaction.defect === true) throw new RangeError('a defect');
    if (reaction.reset === true) throw new TransportError('closed the connection before it answered');
    written.status = verdict?.accepted === true ? (reaction.status ?? 200) : 429;
    return {
      status: written.status,
      headers: { 'x-ratelimit-limit': String(verdict?.limit), ...reaction.headers },
      receivedAt: clock.monotonic(),
      text: reaction.body ?? '{}',
      bytes: 2,
      bodyError: undefined,
    };
  }
}

const FOR_EVER = new Promise<never>(() => {});

/** The store as a process sees it: once it is killed, no statement begins, and none is known to have ended. */
function mortal(store: MemorySubmissions, life: Life): SubmissionStore {
  const within = async <T>(statement: () => Promise<T>): Promise<T> => {
    if (life.over) return await FOR_EVER;
    try {
      return await statement();
    } finally {
      if (life.over) await FOR_EVER;
    }
  };
  return {
    queued: (limit) => within(() => store.queued(limit)),
    claim: (id) => within(() => store.claim(id)),
    finish: (id, outcome) => within(() => store.finish(id, outcome)),
    recover: (timeoutMs, inHand) => within(() => store.recover(timeoutMs, inHand)),
  };
}
