import { Doorbell } from '@research-mirror/runtime/doorbell';
import { Stopped } from '@research-mirror/runtime/service';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { KeyRefused, LeaseLost, TransportError } from '../../../src/model/errors.ts';
import {
  OPERATION_NAMES,
  type OperationName,
  type SubmissionState,
  type SubmissionStore,
} from '../../../src/model/submission.ts';
import { type OnceRequest, sendOnce } from '../../../src/service/attempt.ts';
import { Budget } from '../../../src/service/budget.ts';
import { defaultLimit, RATE_GROUPS, rateGroup, type RateGroup } from '../../../src/service/rate-groups.ts';
import type { HttpAnswer, HttpRequest } from '../../../src/service/transport.ts';
import { submitter, type SubmitterOptions } from '../../../src/submissions/submitter.ts';
import { slidingLog } from '../budget/limiters.ts';
import { MemoryBudgetStore } from '../budget/memory-budget-store.ts';

/** How long (ms) a claim is valid, as in the database's store. */
const SEND_WITHIN_MS = 5_000;

/** Submissions of one account in memory, as the database's store treats them, each statement of some milliseconds. */
function memorySubmissions(clock: VirtualClock) {
  const newRow = (id: string, operation: OperationName) => ({
    id,
    operation,
    state: 'queued' as SubmissionState,
    /** Its states in order. */
    states: ['queued'] as SubmissionState[],
    notBefore: Number.NEGATIVE_INFINITY,
    sendBefore: Number.NEGATIVE_INFINITY,
    error: undefined as string | undefined,
  });
  type Row = ReturnType<typeof newRow>;
  let owner = 0;
  const move = (row: Row, state: SubmissionState): void => {
    row.state = state;
    row.states.push(state);
  };
  const rowOf = (id: string, state: SubmissionState) => store.rows.find((row) => row.id === id && row.state === state);
  const shown = ({ id, operation }: Row) => ({ id, operation, targetId: 't', requestId: `request ${id}` });
  const statement = async (): Promise<void> => {
    const by = owner;
    await clock.sleep(store.statementMs());
    if (store.failure !== undefined) throw store.failure;
    if (by !== owner) throw new LeaseLost('another process has taken the account over');
  };
  const store = {
    rows: [] as Row[],
    /** Before and after the moment at which a statement counts, milliseconds. */
    statementMs: () => 1,
    /** When set, every statement fails with it. */
    failure: undefined as Error | undefined,
    recoveries: 0,
    add(operation: OperationName) {
      const row = newRow(String(store.rows.length + 1), operation);
      store.rows.push(row);
      return row;
    },
    /** Another process takes the account over: statements of earlier ones have no effect from now on (the fence). */
    newOwner: () => void (owner += 1),
    cancel(id: string): void {
      const row = rowOf(id, 'queued');
      if (row !== undefined) move(row, 'cancelled');
    },
    async queued(limit: number) {
      await statement();
      const now = clock.monotonic();
      const due = store.rows.filter((row) => row.state === 'queued' && row.notBefore <= now);
      return OPERATION_NAMES.flatMap((name) => due.filter((row) => row.operation === name).slice(0, limit))
        .toSorted((a, b) => Number(a.id) - Number(b.id))
        .map(shown);
    },
    async claim(id: string) {
      await statement();
      const row = rowOf(id, 'queued');
      if (row !== undefined) {
        move(row, 'sending');
        row.sendBefore = clock.monotonic() + SEND_WITHIN_MS;
      }
      await clock.sleep(store.statementMs());
      return row && { ...shown(row), payload: id, sendBeforeMs: SEND_WITHIN_MS };
    },
    async finish(...[id, outcome]: Parameters<SubmissionStore['finish']>): Promise<void> {
      await statement();
      const row = rowOf(id, 'sending');
      if (row === undefined) return;
      move(row, outcome.state);
      row.error = outcome.error;
      if (outcome.state === 'queued') row.notBefore = clock.monotonic() + outcome.retryInMs;
      await clock.sleep(store.statementMs());
    },
    async recover(timeoutMs: number, inHand: readonly string[]) {
      await statement();
      store.recoveries += 1;
      const now = clock.monotonic();
      const sending = store.rows.filter((row) => row.state === 'sending' && !inHand.includes(row.id));
      const dueIn = (row: Row): number => row.sendBefore + timeoutMs + 30_000 - now;
      for (const row of sending) if (dueIn(row) <= 0) move(row, 'unknown');
      const left = sending.filter((row) => row.state === 'sending').map(dueIn);
      return left.length === 0 ? undefined : Math.max(1, Math.min(...left));
    },
  };
  return store;
}

/** What the emulated service does with one request; the times are milliseconds. */
export interface Reaction {
  /** Until the connection is made. */
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
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request as the service saw it. */
interface Written {
  readonly id: string;
  readonly at: number;
  readonly group: RateGroup;
  /** By the store's clock its claim was not good any more. */
  readonly late: boolean;
  /** Undefined: no answer was given. */
  status: number | undefined;
}

type Life = { over: boolean };
const FOR_EVER = new Promise<never>(() => {});

export const TIMEOUT_MS = 120_000;

/**
 * The submitter of an account with its real budget and `sendOnce`, in virtual time: over a store in memory, against a
 * service with a strict sliding log for each endpoint group.
 */
export class SubmitterScenario {
  readonly clock = new VirtualClock();
  readonly store = memorySubmissions(this.clock);
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
  readonly #limiters = new Map(RATE_GROUPS.map((name) => [name, slidingLog(defaultLimit(name))]));
  readonly #budgetStore = new MemoryBudgetStore(this.clock);
  #budget: Budget | undefined;

  queue(count: number, operation: OperationName = 'sequence'): void {
    for (let i = 0; i < count; i++) this.store.add(operation);
  }

  /** Of every submission, in the order in which they were queued. */
  states(): readonly SubmissionState[] {
    return this.store.rows.map(({ state }) => state);
  }

  /** Starts a process that sends. `ended` resolves with what ended it, never after a kill (SIGKILL). */
  async start() {
    const { clock } = this;
    const loaded = await this.#budgetStore.load('k');
    const options = { keyHash: 'k', clock, share: 1, store: this.#budgetStore, loaded };
    const budget = new Budget({ ...options, onEvent: () => {} });
    this.#budget = budget;
    this.store.newOwner();
    const stopping = new AbortController();
    const life: Life = { over: false };
    const ended = submitter(this.#options(budget, life))(stopping.signal).catch((error: unknown) => error);
    const kill = (): void => {
      life.over = true;
      budget.close(new Error('killed'));
    };
    return { stop: () => stopping.abort(new Stopped('the test')), kill, ended };
  }

  /** Runs until no submission is open any more. @returns the moment */
  async untilDone(limitMs: number = 3_600_000): Promise<number> {
    const end = this.clock.monotonic() + limitMs;
    while (this.states().some((state) => state === 'queued' || state === 'sending')) {
      if (this.clock.monotonic() > end) throw new Error('submissions are still open');
      await this.clock.advance(50);
    }
    return this.clock.monotonic();
  }

  /** Starts a process, and runs until no submission is open any more. @returns the moment */
  async run(): Promise<number> {
    await this.start();
    return this.untilDone();
  }

  /** Starts a process, and lets time pass. */
  async runFor(ms: number) {
    const running = await this.start();
    await this.clock.advance(ms);
    return running;
  }

  slotsUsed(group: RateGroup): number | undefined {
    return this.#budget?.snapshot().groups.find((each) => each.group === group)?.used;
  }

  #options(budget: Budget, life: Life): SubmitterOptions {
    const say = (line: string) => this.lines.push(line);
    return {
      source: {
        once: async (request) => {
          const keyHash = Object.keys(this.keys).find((key) => !this.#refusedKeys.has(key));
          if (keyHash === undefined) throw new KeyRefused('every API key of the account is refused', 401);
          const answer = await this.#once(budget, request, life);
          return answer && { ...answer, keyHash };
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
      log: { info: say, warn: say },
      onDone: ({ operation, state }) => this.done.push(`${operation} ${state}`),
    };
  }

  #once(budget: Budget, request: OnceRequest, life: Life) {
    const transport = { send: (sent: HttpRequest) => this.#serve(sent, request.route, life) };
    return sendOnce({ transport, key: 'key', budget, clock: this.clock, scrub: String }, request);
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
    if (request.mayWrite?.() === false) throw new TransportError('not sent: it was too late', { sent: false });
    const group = rateGroup(request.method, route);
    const at = clock.monotonic();
    const late = (this.store.rows.find((row) => row.id === id)?.sendBefore ?? 0) <= at;
    const written: Written = { id, at, group, late, status: undefined };
    const { accepted, limit } = this.#limiters.get(group)?.ask(at) ?? { accepted: false, limit: 0 };
    (accepted ? this.written : this.refused).push(written);
    await clock.sleep(reaction.answerMs ?? 50, request.signal);
    if (reaction.defect === true) throw new RangeError('a defect');
    if (reaction.reset === true) throw new TransportError('closed the connection before it answered');
    const status = accepted ? (reaction.status ?? 200) : 429;
    written.status = status;
    const headers = { 'x-ratelimit-limit': String(limit), ...reaction.headers };
    return { status, headers, receivedAt: clock.monotonic(), text: '{}', bytes: 2, bodyError: undefined };
  }
}

/** The store as a process sees it: once it is killed, no statement begins, and none is known to have ended. */
function mortal(store: SubmissionStore, life: Life): SubmissionStore {
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
