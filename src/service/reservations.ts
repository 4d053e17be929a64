import { BLOCK_MEMORY_MS } from '../postgres/clock-step.ts';

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
    if (block === undefined || block.validUntil <= now)
      throw new Error('no reserved slot (a defect of the budget)');
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
