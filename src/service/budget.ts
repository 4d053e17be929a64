import type { Clock } from '@research-mirror/runtime/clock';
import PQueue from 'p-queue';
import { type BudgetEvent, type BudgetSnapshot, KeyBudget } from './key-budget.ts';
import { HIGH_PRIORITY, PRIORITY, type Priority, RATE_GROUPS, type RateGroup } from './rate-groups.ts';
import { type AnswerHeaders, readRateHeaders } from './rate-headers.ts';
import { BLOCK_VALID_MS, blockSize, IN_USE_MS, Reservations, UNANSWERED_MS } from './slots.ts';
import { type BudgetStore, type FreedSlots, inherit, learntRate, type LoadedBudget, StoreTime } from './slot-store.ts';

/** The waiting tasks and reservations of one endpoint group. */
function createLane(name: RateGroup, clock: Clock) {
  return { name, queue: new SlotQueue(clock), reservations: new Reservations(), isReserving: false };
}
type Lane = ReturnType<typeof createLane>;

/**
 * The rate limits of one API key, over all its endpoint groups: no request without a reserved slot (invariant 6). It
 * has the queues, timers and stored reservations; `KeyBudget` decides.
 */
export class Budget {
  readonly #keyHash: string;
  readonly #clock: Clock;
  readonly #store: BudgetStore;
  readonly #onEvent: (event: BudgetEvent) => void;
  readonly #key: KeyBudget;
  readonly #time: StoreTime;
  readonly #lanes: Readonly<Record<RateGroup, Lane>>;
  /** Reservations that are being committed. */
  readonly #reserving = new Set<Promise<void>>();
  #nextBlockId: number;
  /** The serial of the last `takeFreed`. */
  #serial: number;
  /** When the task that `startOne` starts was chosen. */
  #startedAt = 0;
  #closed: Error | undefined;

  /**
   * @param keyHash budgets never see the key
   * @param share part of every limit that this program may use (MIRROR_BUDGET_SHARE): max(1, ⌊share × limit⌋)
   * @param loaded the key's rows in the store
   */
  constructor(options: {
    readonly keyHash: string;
    readonly clock: Clock;
    readonly share: number;
    readonly store: BudgetStore;
    readonly loaded: LoadedBudget;
    readonly onEvent: (event: BudgetEvent) => void;
  }) {
    const { keyHash, clock, share, store, loaded, onEvent } = options;
    this.#keyHash = keyHash;
    this.#clock = clock;
    this.#store = store;
    this.#onEvent = onEvent;
    const now = clock.monotonic();
    this.#time = new StoreTime(loaded.now, now);
    this.#key = new KeyBudget(share);
    const lanes = RATE_GROUPS.map((name) => [name, createLane(name, clock)] as const);
    this.#lanes = Object.fromEntries(lanes) as Record<RateGroup, Lane>;
    inherit(this.#key, loaded, now, this.#time);
    this.#serial = Math.max(0, ...loaded.learnt.map((row) => row.learnt.serial ?? 0));
    // Greater than any ID of an earlier process, whose expired rows may still be there.
    this.#nextBlockId = Math.max(Math.floor(loaded.now), ...loaded.blocks.map((block) => block.blockId + 1));
  }

  /**
   * Waits for a slot of `group`, calls `send` and returns its answer. The waiting task is chosen when the slot is free:
   * highest priority first, then in order of arrival. A reservation is committed before `send` is called.
   * @param send sends one HTTP request, without retries and redirects. It resolves with an answer of any status, and
   *   throws if there is none (reset, time-out). Only a NotSent frees the slot at once
   * @throws what `send` throws; the signal's reason at once when it is aborted (a waiting task leaves the queue, a
   *   sent one keeps its slot); what the store throws when nothing can be reserved
   */
  async run<T extends AnswerMeta>(request: BudgetRequest, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    request.signal.throwIfAborted();
    if (this.#closed !== undefined) throw this.#closed;
    const lane = this.#lanes[request.group];
    const turn = lane.queue.add(() => this.#serve(lane, request, send), request.priority, request.signal);
    this.#pump(lane);
    return await turn;
  }

  /** Takes the changes for the next page's transaction, if any. If that fails or is unknown, `putBack` returns them. */
  takeFreed(): FreedSlots | undefined {
    const blocks = Object.values(this.#lanes).flatMap(({ name, reservations }) =>
      reservations.takeUnsaved().map(({ id, freed }) => {
        return { group: name, blockId: id, freed: freed.map((moment) => this.#time.toStore(moment)) };
      }),
    );
    const changed = [...this.#key.changed];
    this.#key.changed.clear();
    if (blocks.length === 0 && changed.length === 0) return undefined;
    const now = this.#clock.monotonic();
    const serial = Math.max(this.#serial + 1, Math.floor(this.#time.toStore(now)));
    this.#serial = serial;
    const learnt = changed.map((group) => {
      return { group, learnt: { serial, ...learntRate(this.#key, group, now, this.#time) } };
    });
    return { keyHash: this.#keyHash, blocks, learnt };
  }

  putBack({ blocks, learnt }: FreedSlots): void {
    for (const { group, blockId } of blocks) this.#lanes[group].reservations.putBack(blockId);
    for (const { group } of learnt) this.#key.changed.add(group);
  }

  /** Stores the changes without a page: when idle, and at a stop. @throws what the store throws */
  async flush(): Promise<void> {
    // After a close, a block that is still being reserved is given back as soon as it is there.
    if (this.#closed !== undefined) await Promise.all(this.#reserving);
    const freed = this.takeFreed();
    if (freed === undefined) return;
    try {
      await this.#store.record(freed);
    } catch (error) {
      this.putBack(freed);
      throw error;
    }
  }

  snapshot(): BudgetSnapshot {
    return this.#key.snapshot(this.#clock.monotonic(), (group) => this.#lanes[group].queue.waiting);
  }

  /** Rejects waiting tasks; the next `flush` stores unused slots as free. The caller aborts requests under way. */
  close(reason: Error): void {
    this.#closed ??= reason;
    for (const { queue, reservations } of Object.values(this.#lanes)) {
      queue.fail(reason);
      queue.stopWaking();
      reservations.release(this.#clock.monotonic());
    }
  }

  /** Starts all tasks that may go now, and sets the timer for the next one. */
  #pump(lane: Lane): void {
    const { name, queue, reservations } = lane;
    while (queue.waiting > 0 && !lane.isReserving && this.#closed === undefined) {
      const now = this.#clock.monotonic();
      const at = this.#key.admission(name, queue.highWaits, now);
      if (at > now) {
        queue.wakeAt(at, () => this.#pump(lane));
        return;
      }
      if (reservations.hasSlot(now)) {
        this.#startedAt = now;
        queue.startOne();
      } else {
        const reserving = this.#reserve(lane).finally(() => this.#reserving.delete(reserving));
        this.#reserving.add(reserving);
      }
    }
  }

  /** Commits a block of slots. If that fails, every waiting task gets the store's error. */
  async #reserve(lane: Lane): Promise<void> {
    const { name, queue, reservations } = lane;
    lane.isReserving = true;
    const calledAt = this.#clock.monotonic();
    const size = blockSize(this.#key.groups[name].size(calledAt), this.#store.largestBlock);
    const blockId = this.#nextBlockId++;
    const block = { group: name, blockId, size, validForMs: BLOCK_VALID_MS };
    const freed = this.takeFreed() ?? { keyHash: this.#keyHash, blocks: [], learnt: [] };
    try {
      const { now } = await this.#store.reserve(this.#keyHash, block, freed);
      this.#time.learn(now, calledAt);
      reservations.open(blockId, size, calledAt);
      if (this.#closed !== undefined) reservations.release(this.#clock.monotonic());
    } catch (error) {
      this.putBack(freed);
      queue.fail(error);
    } finally {
      lane.isReserving = false;
    }
    this.#pump(lane);
  }

  /** Runs within `startOne` up to its first `await`: slot and reservation are taken when the task is chosen. */
  async #serve<T extends AnswerMeta>(
    { name, reservations }: Lane,
    { route, priority, signal }: BudgetRequest,
    send: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    // When the task was chosen: now may be past the reservation's end.
    const sentAt = this.#startedAt;
    const block = reservations.take(sentAt);
    this.#key.sent(name, sentAt, priority >= HIGH_PRIORITY);
    try {
      let answer: T;
      try {
        answer = await send(signal);
      } catch (error) {
        const { log } = this.#key.groups[name];
        const at = this.#clock.monotonic();
        if (error instanceof NotSent) {
          log.unsent();
          reservations.giveBack(block, at);
        } else {
          log.unanswered(at);
          reservations.free(block, at + UNANSWERED_MS + IN_USE_MS);
        }
        throw error;
      }
      const now = this.#clock.monotonic();
      // An impossible moment counts as missing: the slot is then counted from now.
      const receivedAt = answer.receivedAt >= sentAt && answer.receivedAt <= now ? answer.receivedAt : now;
      const headers = readRateHeaders(answer.headers, this.#clock.now());
      reservations.free(block, receivedAt + IN_USE_MS);
      const event = this.#key.judge(name, answer.status, { route, sentAt, receivedAt, headers });
      if (event !== undefined) this.#onEvent(event);
      // A stopped group reads no page that could carry the lesson. If this fails, the next chance stores it.
      if (answer.status === 429) this.flush().catch(() => {});
      return answer;
    } finally {
      for (const each of Object.values(this.#lanes)) this.#pump(each);
    }
  }
}

export interface BudgetRequest {
  readonly group: RateGroup;
  /** Method and path with `{id}` for IDs: the service's `Limit` is kept per route. */
  readonly route: string;
  readonly priority: Priority;
  readonly signal: AbortSignal;
}

/**
 * Thrown by a `send` that provably wrote nothing to the network: no server has counted it, so its slot is free again
 * at once. `cause` says why.
 */
export class NotSent extends Error {
  override readonly name = 'NotSent';
  constructor(cause: unknown) {
    super('nothing was sent', { cause });
  }
}

/** What the budget reads of an answer. */
export interface AnswerMeta {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Monotonic clock, when the headers had come: the slot's window begins (docs/design/rate-limit.md, "Slots"). */
  readonly receivedAt: number;
}

const HIGH_PRIORITIES = Object.values(PRIORITY).filter((each) => each >= HIGH_PRIORITY);

/** Tasks of one endpoint group that wait for a slot, and the one timer that wakes them. The queue stays paused. */
export class SlotQueue {
  // Neither concurrency nor interval is set: the budget decides when a task starts.
  readonly #queue = new PQueue({ autoStart: false });
  readonly #clock: Clock;
  #failure: { readonly error: unknown } | undefined;
  #wake: { readonly at: number; readonly controller: AbortController } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Whether a task of high priority waits: it is then the next one. */
  get highWaits(): boolean {
    return HIGH_PRIORITIES.some((priority) => this.#queue.sizeBy({ priority }) > 0);
  }

  /** Adds a task and settles as it does. An abort rejects at once while the task waits; a started one is awaited. */
  async add<T>(task: () => Promise<T>, priority: Priority, signal: AbortSignal): Promise<T> {
    let started: Promise<T> | undefined;
    const run = (): Promise<T> => {
      this.#queue.pause();
      if (this.#failure !== undefined) throw this.#failure.error;
      started = task();
      return started;
    };
    try {
      return await this.#queue.add(run, { priority, signal });
    } catch (error) {
      // An abort makes the queue drop a task even while it runs: the caller must not go on before it ends.
      if (started !== undefined) return await started;
      throw error;
    }
  }

  /** Starts the first task of the highest priority, if any. */
  startOne(): void {
    this.#queue.start();
    this.#queue.pause();
  }

  /** Rejects every waiting task with `error`. */
  fail(error: unknown): void {
    this.#failure = { error };
    while (this.waiting > 0) this.startOne();
    this.#failure = undefined;
  }

  /** Calls `wake` at the monotonic moment `at`, or earlier; Infinity: never. */
  wakeAt(at: number, wake: () => void): void {
    if (at === Infinity || (this.#wake !== undefined && this.#wake.at <= at)) return;
    this.stopWaking();
    const mine = { at, controller: new AbortController() };
    this.#wake = mine;
    const fire = (): void => {
      if (this.#wake === mine) this.#wake = undefined;
      wake();
    };
    // Timers cut fractions off, and sums of fractions are inexact: both would wake too early, again and again.
    const ms = Math.max(1, Math.ceil(at - this.#clock.monotonic()));
    this.#clock.sleep(ms, mine.controller.signal).then(fire, () => {
      // An earlier wake-up took its place, or the budget was closed.
    });
  }

  stopWaking(): void {
    this.#wake?.controller.abort();
    this.#wake = undefined;
  }
}
