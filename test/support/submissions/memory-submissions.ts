import type {
  ClaimedSubmission,
  OperationName,
  SubmissionOutcome,
  QueuedSubmission,
  SubmissionState,
  SubmissionStore,
} from '../../../src/model/submission.ts';
import { OPERATION_NAMES } from '../../../src/model/submission.ts';
import { LeaseLost } from '../../../src/model/errors.ts';
import type { Clock } from '@research-mirror/runtime/clock';

/** A row of `submissions` in memory. */
export interface MemorySubmission {
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
export class MemorySubmissions implements SubmissionStore {
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
