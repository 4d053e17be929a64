import type { Clock } from '@research-mirror/runtime/clock';
import { type BudgetEvent, type BudgetSnapshot, Key } from './key-budget.ts';
import { inherit, learntRate } from './learnt.ts';
import { HIGH_PRIORITY, type Priority, RATE_GROUPS, type RateGroup } from './rate-groups.ts';
import { type AnswerHeaders, readRateHeaders } from './rate-headers.ts';
import { BLOCK_VALID_MS, type Block, blockSize, Reservations } from './reservations.ts';
import { IN_USE_MS, UNANSWERED_MS } from './slot-log.ts';
import { SlotQueue } from './slot-queue.ts';
import { type BudgetStore, type FreedSlots, type LoadedBudget, StoreTime } from './slot-store.ts';

/** What a budget is made of. */
interface BudgetOptions {
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

/** One endpoint group at the rim: its waiting tasks, its reservations. */
interface Lane {
  readonly name: RateGroup;
  readonly queue: SlotQueue;
  readonly reservations: Reservations;
  /** A reservation is being committed. */
  reserving: boolean;
}

/**
 * The rate limits of ONE API key, over all its endpoint groups: no request without a reserved slot (invariant 6). The rim
 * around the pure `Key`: queues, reservations in the store, timers.
 */
export class Budget {
  readonly #options: BudgetOptions;
  readonly #clock: Clock;
  readonly #key: Key;
  readonly #time: StoreTime;
  readonly #lanes: ReadonlyMap<RateGroup, Lane>;
  /** Reservations that are being committed. */
  readonly #reserving = new Set<Promise<void>>();
  #nextBlockId: number;
  /** Of the lessons last taken to be stored. */
  #serial: number;
  /** When the task was chosen that `startOne` starts. */
  #startedAt = 0;
  #closed: Error | undefined;

  /** Goes on from the store's rows. */
  constructor(options: BudgetOptions) {
    const { clock, share, loaded } = options;
    this.#options = options;
    this.#clock = clock;
    const now = clock.monotonic();
    this.#time = new StoreTime(loaded.now, now);
    this.#key = new Key(share);
    const lanes = RATE_GROUPS.map((name) => {
      return { name, queue: new SlotQueue(clock), reservations: new Reservations(), reserving: false };
    });
    this.#lanes = new Map(lanes.map((lane) => [lane.name, lane]));
    inherit(this.#key, loaded, now, this.#time);
    this.#serial = Math.max(0, ...loaded.learnt.map((row) => row.learnt.serial ?? 0));
    // Greater than any ID of an earlier process, whose expired rows may still be there.
    this.#nextBlockId = Math.max(Math.floor(loaded.now), ...loaded.blocks.map((block) => block.blockId + 1));
  }

  /**
   * Waits for a slot of `group`, calls `send` and returns its answer. The waiting task is chosen when the slot is
   * free: highest priority first, then in order of arrival. A reservation is committed before `send` is called.
   * @throws what `send` throws; the signal's reason, at once, when it is aborted (a waiting task then leaves the
   *   queue, a sent one keeps its slot); what the store throws when nothing can be reserved
   */
  async run<T extends AnswerMeta>(request: BudgetRequest, send: Send<T>): Promise<T> {
    request.signal.throwIfAborted();
    if (this.#closed !== undefined) throw this.#closed;
    const lane = this.#lane(request.group);
    const turn = lane.queue.add(() => this.#serve(lane, request, send), request.priority, request.signal);
    this.#pump(lane);
    return await turn;
  }

  /**
   * Takes what the next page's transaction is to store; undefined: nothing. If that transaction fails, or its outcome
   * is unknown, give it back with `putBack`.
   */
  takeFreed(): FreedSlots | undefined {
    const blocks = [...this.#lanes.values()].flatMap(({ name, reservations }) =>
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
    return { keyHash: this.#options.keyHash, blocks, learnt };
  }

  putBack({ blocks, learnt }: FreedSlots): void {
    for (const { group, blockId } of blocks) this.#lane(group).reservations.putBack(blockId);
    for (const { group } of learnt) this.#key.changed.add(group);
  }

  /** Stores it without a page: when idle, and at a stop. @throws what the store throws */
  async flush(): Promise<void> {
    // After a close, a block that is still being reserved is given back as soon as it is there.
    if (this.#closed !== undefined) await Promise.all(this.#reserving);
    const freed = this.takeFreed();
    if (freed === undefined) return;
    try {
      await this.#options.store.record(freed);
    } catch (error) {
      this.putBack(freed);
      throw error;
    }
  }

  snapshot(): BudgetSnapshot {
    return this.#key.snapshot(this.#clock.monotonic(), (group) => this.#lane(group).queue.waiting);
  }

  /**
   * Ends all timers; waiting tasks reject with `reason`. The next `flush` stores unused reservations as free. The
   * caller aborts requests under way.
   */
  close(reason: Error): void {
    this.#closed ??= reason;
    for (const { queue, reservations } of this.#lanes.values()) {
      queue.fail(reason);
      queue.stopWaking();
      reservations.release(this.#clock.monotonic());
    }
  }

  #lane(name: RateGroup): Lane {
    const found = this.#lanes.get(name);
    if (found === undefined) throw new RangeError(`no endpoint group named ${JSON.stringify(name)}`);
    return found;
  }

  /** Starts as many tasks as may go now, and sets the timer for the rest. */
  #pump(lane: Lane): void {
    const { name, queue, reservations } = lane;
    while (queue.waiting > 0 && !lane.reserving && this.#closed === undefined) {
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

  /** Commits a block of slots; on failure, every task that waits for it gets the store's error. */
  async #reserve(lane: Lane): Promise<void> {
    const { name, queue, reservations } = lane;
    const { keyHash, store } = this.#options;
    lane.reserving = true;
    const calledAt = this.#clock.monotonic();
    const size = blockSize(this.#key.group(name).size(calledAt), store.largestBlock);
    const blockId = this.#nextBlockId++;
    const block = { group: name, blockId, size, validForMs: BLOCK_VALID_MS };
    const freed = this.takeFreed() ?? { keyHash, blocks: [], learnt: [] };
    try {
      const { now } = await store.reserve(keyHash, block, freed);
      this.#time.learn(now, calledAt);
      reservations.open(blockId, size, calledAt);
      if (this.#closed !== undefined) reservations.release(this.#clock.monotonic());
    } catch (error) {
      this.putBack(freed);
      queue.fail(error);
    } finally {
      lane.reserving = false;
    }
    this.#pump(lane);
  }

  /** Runs within `startOne` up to its first `await`: slot and reservation are taken with the choice of the task. */
  async #serve<T extends AnswerMeta>(lane: Lane, request: BudgetRequest, send: Send<T>): Promise<T> {
    // When the task was chosen: now may be past the reservation's end.
    const sentAt = this.#startedAt;
    const block = lane.reservations.take(sentAt);
    this.#key.sent(lane.name, sentAt, request.priority >= HIGH_PRIORITY);
    try {
      const answer = await this.#answerOf(request, send, lane, block);
      this.#judge(lane, request.route, answer, sentAt, block);
      return answer;
    } finally {
      for (const each of this.#lanes.values()) this.#pump(each);
    }
  }

  async #answerOf<T extends AnswerMeta>(
    { signal }: BudgetRequest,
    send: Send<T>,
    { name, reservations }: Lane,
    block: Block,
  ): Promise<T> {
    try {
      return await send(signal);
    } catch (error) {
      const { log } = this.#key.group(name);
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
  }

  #judge(
    { name, reservations }: Lane,
    route: string,
    answer: AnswerMeta,
    sentAt: number,
    block: Block,
  ): void {
    const now = this.#clock.monotonic();
    // A moment that is impossible counts as missing: the slot is then counted from now.
    const receivedAt = answer.receivedAt >= sentAt && answer.receivedAt <= now ? answer.receivedAt : now;
    const headers = readRateHeaders(answer.headers, this.#clock.now());
    reservations.free(block, receivedAt + IN_USE_MS);
    const event = this.#key.judge(name, answer.status, { route, sentAt, receivedAt, headers });
    if (event !== undefined) this.#options.onEvent(event);
    // A stopped group reads no page that could carry the lesson. If this fails, the next chance stores it.
    if (answer.status === 429) this.flush().catch(() => {});
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
 * Sends one HTTP request, with neither retries nor redirects.
 * Resolves when there is an answer, whatever its status; throws when there is none (reset, time-out). Only a NotSent
 * frees the slot at once.
 */
type Send<T extends AnswerMeta> = (signal: AbortSignal) => Promise<T>;

/**
 * Thrown by a `Send` that provably wrote nothing to the network: no server has counted it, so its slot is free again
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
