import { BLOCK_VALID_MS } from './timing.ts';

/** A block of slots that the store has committed to us. */
export interface Block {
  readonly id: number;
  readonly size: number;
  /** Monotonic moments: usable from, and until. */
  readonly openedAt: number;
  readonly validUntil: number;
  /** Slots given to requests. */
  used: number;
  /** Moments at which slots come free again, as far as known: never more than `size`. */
  readonly freed: number[];
}

/** Part of a window that a block covers, and the most slots it has at first. */
const BLOCKS_PER_WINDOW = 12;
const MOST_AT_FIRST = 16;
/** A block that was used up faster than this is followed by one of twice the size, up to a bound. */
const SHORT_LIVED_MS = 500;
const MOST_SLOTS = 256;

/**
 * The reservations of one endpoint group: the block in use, and those of which something is to be stored.
 *
 * A crash loses at most one block's unused slots, for one window. So blocks are small against the limit; only a
 * high limit that is really used (thousands of requests a minute) makes them grow, so that the store is not asked
 * for every few requests.
 */
export class Reservations {
  #current: Block | undefined;
  #growth = 1;
  readonly #unsaved = new Set<Block>();

  /** How many slots to reserve next. @param size of the group @param largest that the store takes */
  nextSize(size: number, largest: number): number {
    const share = Math.floor(size / BLOCKS_PER_WINDOW);
    const most = Math.min(MOST_AT_FIRST * this.#growth, MOST_SLOTS, largest);
    return Math.max(1, Math.min(share, most));
  }

  open(id: number, size: number, openedAt: number): void {
    this.#current = { id, size, openedAt, validUntil: openedAt + BLOCK_VALID_MS, used: 0, freed: [] };
  }

  /** Whether `take` gives a slot. An expired block's unused slots are given back. */
  hasSlot(now: number): boolean {
    if (this.#current !== undefined && this.#current.validUntil <= now) this.release(now);
    return this.#current !== undefined;
  }

  /** One reserved slot, by its block. @throws when there is none: a request may not be sent then */
  take(now: number): Block {
    const block = this.#current;
    if (block === undefined || block.validUntil <= now)
      throw new Error('no reserved slot (a defect of the budget)');
    block.used += 1;
    if (block.used === block.size) {
      this.#growth = now - block.openedAt < SHORT_LIVED_MS ? Math.min(this.#growth * 2, MOST_SLOTS) : 1;
      this.#current = undefined;
    }
    return block;
  }

  /** The slot of an ended request comes free at `moment`. */
  free(block: Block, moment: number): void {
    block.freed.push(moment);
    this.#unsaved.add(block);
  }

  /** A slot that `take` gave was not used: the block in use has it again; of another block it is free at once. */
  giveBack(block: Block, now: number): void {
    if (block === this.#current) block.used -= 1;
    else this.free(block, now);
  }

  /** Gives the unused slots of the block in use back: nothing was sent on them. */
  release(now: number): void {
    const block = this.#current;
    if (block === undefined) return;
    this.#current = undefined;
    this.#growth = 1;
    for (let unused = block.size - block.used; unused > 0; unused -= 1) this.free(block, now);
  }

  /** Blocks whose freed slots are to be stored; they count as stored now. */
  takeUnsaved(): readonly Block[] {
    const blocks = [...this.#unsaved];
    this.#unsaved.clear();
    return blocks;
  }

  putBack(block: Block): void {
    this.#unsaved.add(block);
  }
}
