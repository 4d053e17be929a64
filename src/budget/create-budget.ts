import type { Clock } from '@research-mirror/runtime/clock';
import type {
  AnswerMeta,
  Budget,
  BudgetEvent,
  BudgetOptions,
  BudgetRequest,
  BudgetSnapshot,
  Send,
} from './budget.ts';
import { inheritBlocks } from './store/inherit.ts';
import { KeyModel } from './key-model.ts';
import { EndpointGroup } from './endpoint-group.ts';
import { inheritLearnt, learntRow } from './learnt.ts';
import { NotSent } from './not-sent.ts';
import { HIGH_PRIORITY } from './priorities.ts';
import { readRateHeaders } from './evidence/rate-headers.ts';
import { RATE_GROUPS, type RateGroup } from './rate-groups.ts';
import type { Block } from './slots/reservations.ts';
import { budgetSnapshotOf } from './snapshot.ts';
import { StoreTime } from './store/store-time.ts';
import type { BudgetStore, FreedSlots, StoredGroup } from './store/store.ts';
import { BLOCK_VALID_MS, UNANSWERED_MS, WINDOW_MS } from './slots/timing.ts';

/** A budget that goes on where the store's rows leave off. */
export function createBudget(options: BudgetOptions): Budget {
  return new KeyBudget(options);
}

/** What a FreedSlots was made of, for `putBack`. */
interface Taken {
  readonly blocks: readonly { readonly endpointGroup: EndpointGroup; readonly block: Block }[];
  readonly learnt: readonly StoredGroup[];
}

/** The rim around the pure KeyModel: queues, reservations in the store, timers. */
class KeyBudget implements Budget {
  readonly #keyHash: string;
  readonly #clock: Clock;
  readonly #onEvent: (event: BudgetEvent) => void;
  readonly #model: KeyModel;
  readonly #time: StoreTime;
  readonly #endpointGroups: ReadonlyMap<RateGroup, EndpointGroup>;
  readonly #taken = new WeakMap<FreedSlots, Taken>();
  /** Reservations that are being committed. */
  readonly #reserving = new Set<Promise<void>>();
  readonly #store: BudgetStore;
  #nextBlockId: number;
  /** Of what was learnt and last taken to be stored. */
  #serial: number;
  /** When the task that `startOne` starts was chosen. */
  #startedAt = 0;
  #closed: Error | undefined;

  constructor({ keyHash, clock, share, store, loaded, onEvent }: BudgetOptions) {
    this.#keyHash = keyHash;
    this.#clock = clock;
    this.#onEvent = onEvent;
    this.#store = store;
    const now = clock.monotonic();
    this.#time = new StoreTime(loaded.now, now);
    this.#model = new KeyModel(share);
    this.#endpointGroups = new Map(
      RATE_GROUPS.map((name) => [name, new EndpointGroup(this.#model.group(name), clock)]),
    );
    inheritLearnt(this.#model, loaded.learnt, now, this.#time);
    inheritBlocks(this.#model, loaded.blocks, now, this.#time);
    this.#model.answered = loaded.known;
    if (loaded.known && loaded.blocks.length === 0 && loaded.learnt.length === 0) this.#model.beQuiet(now);
    this.#serial = Math.max(0, ...loaded.learnt.map((row) => row.learnt.serial ?? 0));
    // Greater than any ID of an earlier process, whose expired rows may still be there.
    this.#nextBlockId = Math.max(Math.floor(loaded.now), ...loaded.blocks.map((block) => block.blockId + 1));
  }

  async run<T extends AnswerMeta>(request: BudgetRequest, send: Send<T>): Promise<T> {
    request.signal.throwIfAborted();
    if (this.#closed !== undefined) throw this.#closed;
    const endpointGroup = this.#endpointGroup(request.group);
    const turn = endpointGroup.queue.add(
      () => this.#serve(endpointGroup, request, send),
      request.priority,
      request.signal,
    );
    this.#pump(endpointGroup);
    return await turn;
  }

  takeFreed(): FreedSlots | undefined {
    const blocks = [...this.#endpointGroups.values()].flatMap((endpointGroup) =>
      endpointGroup.reservations.takeUnsaved().map((block) => ({ endpointGroup, block })),
    );
    const learnt = [...this.#model.changed];
    this.#model.changed.clear();
    if (blocks.length === 0 && learnt.length === 0) return undefined;
    const now = this.#clock.monotonic();
    this.#serial = Math.max(this.#serial + 1, Math.floor(this.#time.toStore(now)));
    const freed: FreedSlots = {
      keyHash: this.#keyHash,
      blocks: blocks.map(({ endpointGroup, block }) => ({
        group: endpointGroup.model.name,
        blockId: block.id,
        freed: block.freed.map((moment) => this.#time.toStore(moment)),
      })),
      learnt: learnt.map((name) => learntRow(this.#model, name, now, this.#time, this.#serial)),
    };
    this.#taken.set(freed, { blocks, learnt });
    return freed;
  }

  putBack(freed: FreedSlots): void {
    const taken = this.#taken.get(freed);
    for (const { endpointGroup, block } of taken?.blocks ?? []) endpointGroup.reservations.putBack(block);
    for (const name of taken?.learnt ?? []) this.#model.changed.add(name);
  }

  async flush(): Promise<void> {
    // What is being reserved when the budget is closed is given back as soon as it is there.
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
    return budgetSnapshotOf(this.#model, [...this.#endpointGroups.values()], this.#clock.monotonic());
  }

  close(reason: Error): void {
    this.#closed ??= reason;
    for (const endpointGroup of this.#endpointGroups.values()) {
      endpointGroup.fail(reason);
      endpointGroup.stopWaking();
      endpointGroup.reservations.release(this.#clock.monotonic());
    }
  }

  /** Starts as many tasks as may go now, and sees to it that somebody asks again for the rest. */
  #pump(endpointGroup: EndpointGroup): void {
    while (endpointGroup.queue.waiting > 0 && !endpointGroup.reserving && this.#closed === undefined) {
      const now = this.#clock.monotonic();
      const { highWaits } = endpointGroup.queue;
      const admission = this.#model.admission(
        { group: endpointGroup.model.name, high: highWaits, highWaits },
        now,
      );
      if (admission !== 'go') {
        if (admission.at !== undefined) endpointGroup.wakeAt(admission.at, () => this.#pump(endpointGroup));
        return;
      }
      if (endpointGroup.reservations.hasSlot(now)) {
        this.#startedAt = now;
        endpointGroup.queue.startOne();
      } else this.#beginReserve(endpointGroup);
    }
  }

  #beginReserve(endpointGroup: EndpointGroup): void {
    const reserving = this.#reserve(endpointGroup).finally(() => this.#reserving.delete(reserving));
    this.#reserving.add(reserving);
  }

  /** Commits a block of slots; on failure, every task that waits for it gets the store's error. */
  async #reserve(endpointGroup: EndpointGroup): Promise<void> {
    endpointGroup.reserving = true;
    const calledAt = this.#clock.monotonic();
    const size = endpointGroup.reservations.nextSize(
      endpointGroup.model.size(calledAt),
      this.#store.largestBlock,
    );
    const block = {
      group: endpointGroup.model.name,
      blockId: this.#nextBlockId++,
      size,
      validForMs: BLOCK_VALID_MS,
    };
    const freed = this.takeFreed() ?? { keyHash: this.#keyHash, blocks: [], learnt: [] };
    try {
      const { now } = await this.#store.reserve(this.#keyHash, block, freed);
      this.#time.learn(now, calledAt);
      endpointGroup.reservations.open(block.blockId, size, calledAt);
      if (this.#closed !== undefined) endpointGroup.reservations.release(this.#clock.monotonic());
    } catch (error) {
      this.putBack(freed);
      endpointGroup.fail(error);
    } finally {
      endpointGroup.reserving = false;
    }
    this.#pump(endpointGroup);
  }

  /** Runs within `startOne` up to its first `await`: slot and reservation are taken with the choice of the task. */
  async #serve<T extends AnswerMeta>(
    endpointGroup: EndpointGroup,
    request: BudgetRequest,
    send: Send<T>,
  ): Promise<T> {
    endpointGroup.throwIfFailed();
    // The moment of the choice: a clock that is asked again may have passed the reservation's end meanwhile.
    const sentAt = this.#startedAt;
    const block = endpointGroup.reservations.take(sentAt);
    endpointGroup.model.sent(sentAt, request.priority >= HIGH_PRIORITY);
    try {
      const answer = await this.#answerOf(request, send, endpointGroup, block);
      this.#judge(endpointGroup, request, answer, sentAt, block);
      return answer;
    } finally {
      this.#pumpAll();
    }
  }

  async #answerOf<T extends AnswerMeta>(
    request: BudgetRequest,
    send: Send<T>,
    endpointGroup: EndpointGroup,
    block: Block,
  ): Promise<T> {
    try {
      return await send(request.signal);
    } catch (error) {
      const at = this.#clock.monotonic();
      if (error instanceof NotSent) {
        this.#model.unsent(request.group);
        endpointGroup.reservations.giveBack(block, at);
        throw error;
      }
      this.#model.unanswered(request.group, at);
      endpointGroup.reservations.free(
        block,
        at + UNANSWERED_MS + WINDOW_MS + endpointGroup.model.pace.guardMs(at),
      );
      throw error;
    }
  }

  #judge(
    endpointGroup: EndpointGroup,
    request: BudgetRequest,
    answer: AnswerMeta,
    sentAt: number,
    block: Block,
  ): void {
    const now = this.#clock.monotonic();
    // A moment that can't be is as good as none: the slot is then counted from now.
    const receivedAt = answer.receivedAt >= sentAt && answer.receivedAt <= now ? answer.receivedAt : now;
    const headers = readRateHeaders(answer.headers, this.#clock.now());
    const events = this.#model.judge(request.group, answer.status, {
      route: request.route,
      sentAt,
      receivedAt,
      headers,
    });
    endpointGroup.reservations.free(block, receivedAt + WINDOW_MS + endpointGroup.model.pace.guardMs(now));
    for (const event of events) this.#onEvent(event);
    // A stopped group reads no pages that could carry the lesson. If this fails, it waits for the next chance.
    if (answer.status === 429) this.flush().catch(() => {});
  }

  #pumpAll(): void {
    for (const endpointGroup of this.#endpointGroups.values()) this.#pump(endpointGroup);
  }

  #endpointGroup(name: RateGroup): EndpointGroup {
    const endpointGroup = this.#endpointGroups.get(name);
    if (endpointGroup === undefined) throw new RangeError(`no endpoint group named ${JSON.stringify(name)}`);
    return endpointGroup;
  }
}
