import type { Clock } from '@research-mirror/runtime/clock';
import type { AnswerMeta, Budget, BudgetOptions, BudgetRequest, BudgetSnapshot, Send } from './budget.ts';
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
import type { FreedSlots, StoredGroup } from './store/store.ts';
import { BLOCK_VALID_MS, UNANSWERED_MS, WINDOW_MS } from './slots/timing.ts';

/** A budget that goes on from the store's rows. */
export function createBudget(options: BudgetOptions): Budget {
  return new KeyBudget(options);
}

/** The blocks and groups of a FreedSlots, for `putBack`. */
interface Taken {
  readonly blocks: readonly { readonly endpointGroup: EndpointGroup; readonly block: Block }[];
  readonly learnt: readonly StoredGroup[];
}

/** The rim around the pure KeyModel: queues, reservations in the store, timers. */
class KeyBudget implements Budget {
  readonly #options: BudgetOptions;
  readonly #clock: Clock;
  readonly #model: KeyModel;
  readonly #time: StoreTime;
  readonly #endpointGroups: ReadonlyMap<RateGroup, EndpointGroup>;
  readonly #taken = new WeakMap<FreedSlots, Taken>();
  /** Reservations that are being committed. */
  readonly #reserving = new Set<Promise<void>>();
  #nextBlockId: number;
  /** Of the lessons last taken to be stored. */
  #serial: number;
  /** When the task was chosen that `startOne` starts. */
  #startedAt = 0;
  #closed: Error | undefined;

  constructor(options: BudgetOptions) {
    const { clock, share, loaded } = options;
    this.#options = options;
    this.#clock = clock;
    const now = clock.monotonic();
    this.#time = new StoreTime(loaded.now, now);
    this.#model = new KeyModel(share);
    const groups = RATE_GROUPS.map((name) => new EndpointGroup(this.#model.group(name), clock));
    this.#endpointGroups = new Map(groups.map((group) => [group.model.name, group]));
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
    const { group, priority, signal } = request;
    const endpointGroup = this.#endpointGroups.get(group);
    if (endpointGroup === undefined) throw new RangeError(`no endpoint group named ${JSON.stringify(group)}`);
    const turn = endpointGroup.queue.add(() => this.#serve(endpointGroup, request, send), priority, signal);
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
      keyHash: this.#options.keyHash,
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
    const waiting = (group: RateGroup): number => this.#endpointGroups.get(group)?.queue.waiting ?? 0;
    return budgetSnapshotOf(this.#model, waiting, this.#clock.monotonic());
  }

  close(reason: Error): void {
    this.#closed ??= reason;
    for (const endpointGroup of this.#endpointGroups.values()) {
      endpointGroup.fail(reason);
      endpointGroup.stopWaking();
      endpointGroup.reservations.release(this.#clock.monotonic());
    }
  }

  /** Starts as many tasks as may go now, and sets the timer for the rest. */
  #pump(endpointGroup: EndpointGroup): void {
    while (endpointGroup.queue.waiting > 0 && !endpointGroup.reserving && this.#closed === undefined) {
      const now = this.#clock.monotonic();
      const { highWaits } = endpointGroup.queue;
      const group = endpointGroup.model.name;
      const admission = this.#model.admission({ group, high: highWaits, highWaits }, now);
      if (admission !== 'go') {
        if (admission.at !== undefined) endpointGroup.wakeAt(admission.at, () => this.#pump(endpointGroup));
        return;
      }
      if (endpointGroup.reservations.hasSlot(now)) {
        this.#startedAt = now;
        endpointGroup.queue.startOne();
      } else {
        const reserving = this.#reserve(endpointGroup).finally(() => this.#reserving.delete(reserving));
        this.#reserving.add(reserving);
      }
    }
  }

  /** Commits a block of slots; on failure, every task that waits for it gets the store's error. */
  async #reserve(endpointGroup: EndpointGroup): Promise<void> {
    const { model, reservations } = endpointGroup;
    const { keyHash, store } = this.#options;
    endpointGroup.reserving = true;
    const calledAt = this.#clock.monotonic();
    const size = reservations.nextSize(model.size(calledAt), store.largestBlock);
    const blockId = this.#nextBlockId++;
    const block = { group: model.name, blockId, size, validForMs: BLOCK_VALID_MS };
    const freed = this.takeFreed() ?? { keyHash, blocks: [], learnt: [] };
    try {
      const { now } = await store.reserve(keyHash, block, freed);
      this.#time.learn(now, calledAt);
      reservations.open(blockId, size, calledAt);
      if (this.#closed !== undefined) reservations.release(this.#clock.monotonic());
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
    // When the task was chosen: now may be past the reservation's end.
    const sentAt = this.#startedAt;
    const block = endpointGroup.reservations.take(sentAt);
    endpointGroup.model.sent(sentAt, request.priority >= HIGH_PRIORITY);
    try {
      const answer = await this.#answerOf(request, send, endpointGroup, block);
      this.#judge(endpointGroup, request, answer, sentAt, block);
      return answer;
    } finally {
      for (const each of this.#endpointGroups.values()) this.#pump(each);
    }
  }

  async #answerOf<T extends AnswerMeta>(
    request: BudgetRequest,
    send: Send<T>,
    endpointGroup: EndpointGroup,
    block: Block,
  ): Promise<T> {
    const { model, reservations } = endpointGroup;
    try {
      return await send(request.signal);
    } catch (error) {
      const at = this.#clock.monotonic();
      if (error instanceof NotSent) {
        model.unsent();
        reservations.giveBack(block, at);
      } else {
        model.unanswered(at);
        reservations.free(block, at + UNANSWERED_MS + WINDOW_MS + model.pace.guardMs(at));
      }
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
    // A moment that is impossible counts as missing: the slot is then counted from now.
    const receivedAt = answer.receivedAt >= sentAt && answer.receivedAt <= now ? answer.receivedAt : now;
    const headers = readRateHeaders(answer.headers, this.#clock.now());
    const { group, route } = request;
    const events = this.#model.judge(group, answer.status, { route, sentAt, receivedAt, headers });
    endpointGroup.reservations.free(block, receivedAt + WINDOW_MS + endpointGroup.model.pace.guardMs(now));
    for (const event of events) this.#options.onEvent(event);
    // A stopped group reads no page that could carry the lesson. If this fails, the next chance stores it.
    if (answer.status === 429) this.flush().catch(() => {});
  }
}
