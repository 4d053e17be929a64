import { BLOCK_MEMORY_MS } from '../postgres/clock-step.ts';

/** The service's window (specification 8.2), ms. */
export const WINDOW_MS = 60_000;
/** Margin (ms) for clocks of other speed and servers that round. Latency needs none: a slot counts from the answer. */
export const GUARD_MS = 250;
/** From an answer until its slot is free again, ms. */
export const IN_USE_MS = WINDOW_MS + GUARD_MS;
/** The slot of a request without an answer stays in use this much longer (ms): the request may still arrive. */
export const UNANSWERED_MS = 30_000;
/** Moments are kept for a second window (ms): an answer that took long can then still be judged. */
const MEMORY_MS = 2 * WINDOW_MS;
/** Forgotten moments after which the array is cut: forgetting costs amortised O(1). */
const COMPACT_AT = 1_024;

/**
 * The sliding log of one endpoint group: which of our requests a server may still count. A slot is in use from the
 * sending until the answer + window + guard (docs/design/rate-limit.md, "Slots"). Moments are monotonic ms.
 */
export class SlotLog {
  inFlight = 0;
  sent = 0;
  /** When the last request ended, with or without an answer. */
  endedAt = -Infinity;
  /** The latest moments at which the server counted ended requests, in order; those before `#head` are forgotten. */
  readonly #counted: number[] = [];
  #head = 0;

  start(now: number): void {
    this.#forget(now - MEMORY_MS);
    this.inFlight += 1;
    this.sent += 1;
  }

  /** The request was not sent after all: no server has counted it. */
  unsent(): void {
    this.inFlight -= 1;
    this.sent -= 1;
  }

  /** No answer came until `at`. */
  unanswered(at: number): void {
    this.answered(at, at + UNANSWERED_MS);
  }

  /** @param at when the response's headers arrived @param countedAt when the server counted it, at the latest */
  answered(at: number, countedAt: number = at): void {
    this.inFlight -= 1;
    this.endedAt = at;
    this.inherit(countedAt);
  }

  /** Adds a slot that is not under way, such as an earlier process's; the server counted it at `at` at the latest. */
  inherit(at: number): void {
    this.#counted.splice(this.#firstAfter(at), 0, at);
  }

  used(now: number): number {
    return this.inFlight + this.#inUse(now);
  }

  /** When the next slot comes free; Infinity if only requests under way use any. */
  nextFree(now: number): number {
    return (this.#counted[this.#firstAfter(now, IN_USE_MS)] ?? Infinity) + IN_USE_MS;
  }

  /** Most requests of ours that a server had counted when it judged one sent at `sentAt`; undefined: too long ago. */
  countedAt(sentAt: number, now: number): number | undefined {
    return sentAt - IN_USE_MS < now - MEMORY_MS ? undefined : this.inFlight + this.#inUse(sentAt);
  }

  #inUse(moment: number): number {
    return this.#counted.length - this.#firstAfter(moment, IN_USE_MS);
  }

  /**
   * Index of the first counted moment that is later than `moment` when `plus` is added to it. A difference in place of
   * the sum is rounded otherwise: a slot could be in use and free at once. Binary, since a limit may be a million.
   */
  #firstAfter(moment: number, plus = 0): number {
    let [low, high] = [this.#head, this.#counted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#counted[middle] ?? Infinity) + plus > moment) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #forget(moment: number): void {
    this.#head = this.#firstAfter(moment);
    if (this.#head <= COMPACT_AT || this.#head <= this.#counted.length / 2) return;
    this.#counted.splice(0, this.#head);
    this.#head = 0;
  }
}

/** How long a reservation may be used, ms. */
export const BLOCK_VALID_MS = 10_000;

/** A block of slots that is reserved in the store. */
interface Block {
  readonly id: number;
  readonly size: number;
  /** Usable until this monotonic moment. */
  readonly validUntil: number;
  used: number;
  /** Known moments at which slots come free again, at most `size`. */
  readonly freed: number[];
}

/** Blocks per window, and the most slots of one. */
const BLOCKS_PER_WINDOW = 15;
const MOST_SLOTS = 64;

/** Slots to reserve next. @param size of the group @param largest block that the store takes */
export function blockSize(size: number, largest: number): number {
  return Math.max(1, Math.min(Math.floor(size / BLOCKS_PER_WINDOW), MOST_SLOTS, largest));
}

/**
 * The reservations of one endpoint group: the block in use, and those with news for the store
 * (docs/design/rate-limit.md, "Reservations"). A crash loses one block's unused slots for one window at most, so
 * blocks are small against the limit.
 */
export class Reservations {
  #current: Block | undefined;
  /** Blocks that the store still has. */
  readonly #blocks = new Map<number, Block>();
  readonly #unsaved = new Set<Block>();

  open(id: number, size: number, openedAt: number): void {
    for (const [old, { validUntil }] of this.#blocks)
      if (validUntil < openedAt - BLOCK_MEMORY_MS) this.#blocks.delete(old);
    this.#current = { id, size, validUntil: openedAt + BLOCK_VALID_MS, used: 0, freed: [] };
    this.#blocks.set(id, this.#current);
  }

  /** Whether `take` has a slot. Gives back the unused slots of an expired block. */
  hasSlot(now: number): boolean {
    if (this.#current !== undefined && this.#current.validUntil <= now) this.release(now);
    return this.#current !== undefined;
  }

  /** Takes a reserved slot of the returned block. @throws when none is left: then no request may be sent */
  take(now: number): Block {
    const block = this.#current;
    if (block === undefined || block.validUntil <= now) throw new Error('no reserved slot (a defect of the budget)');
    block.used += 1;
    if (block.used === block.size) this.#current = undefined;
    return block;
  }

  free(block: Block, moment: number): void {
    block.freed.push(moment);
    this.#unsaved.add(block);
  }

  /** Gives back a taken slot that was not used: to the block in use, or else it is free at once. */
  giveBack(block: Block, now: number): void {
    if (block === this.#current) block.used -= 1;
    else this.free(block, now);
  }

  release(now: number): void {
    const block = this.#current;
    if (block === undefined) return;
    this.#current = undefined;
    for (let unused = block.size - block.used; unused > 0; unused -= 1) this.free(block, now);
  }

  /** Takes the blocks whose freed slots the store does not have; from now on they count as stored. */
  takeUnsaved(): readonly Block[] {
    const blocks = [...this.#unsaved];
    this.#unsaved.clear();
    return blocks;
  }

  /** The block's freed slots were not stored after all. */
  putBack(id: number): void {
    const block = this.#blocks.get(id);
    if (block !== undefined) this.#unsaved.add(block);
  }
}
