import { describe, expect, it } from 'vitest';
import { BLOCK_MEMORY_MS } from '../postgres/clock-step.ts';
import { BLOCK_VALID_MS, blockSize, Reservations } from './slots.ts';

function opened(size: number): Reservations {
  const reservations = new Reservations();
  reservations.open(1, size, 0);
  return reservations;
}

const unsaved = (reservations: Reservations): readonly (readonly number[])[] =>
  reservations.takeUnsaved().map(({ freed }) => freed);

describe('a reserved block', () => {
  it('gives as many slots as it has, while it is valid', () => {
    const reservations = opened(2);
    expect([reservations.take(1).id, reservations.hasSlot(2)]).toEqual([1, true]);
    reservations.take(2);
    expect(reservations.hasSlot(3)).toBe(false);
    expect(() => reservations.take(3)).toThrow('no reserved slot');
  });

  it('gives none from its end on, and its unused ones come free then', () => {
    const reservations = opened(3);
    reservations.take(0);
    expect(reservations.hasSlot(BLOCK_VALID_MS - 1)).toBe(true);
    expect(() => reservations.take(BLOCK_VALID_MS)).toThrow('no reserved slot');
    expect(reservations.hasSlot(BLOCK_VALID_MS)).toBe(false);
    expect(unsaved(reservations)).toEqual([[BLOCK_VALID_MS, BLOCK_VALID_MS]]);
  });

  it('takes a slot back that was not used; another block’s is free at once', () => {
    const reservations = opened(2);
    const first = reservations.take(0);
    reservations.giveBack(first, 1);
    expect([reservations.take(2), reservations.take(3)].map(({ id }) => id)).toEqual([1, 1]);
    reservations.giveBack(first, 4);
    expect(unsaved(reservations)).toEqual([[4]]);
  });

  it('is reported once, and again when that could not be stored', () => {
    const reservations = opened(1);
    reservations.free(reservations.take(0), 60_000);
    const blocks = reservations.takeUnsaved();
    expect([blocks.length, reservations.takeUnsaved()]).toEqual([1, []]);
    for (const { id } of blocks) reservations.putBack(id);
    expect(reservations.takeUnsaved()).toEqual(blocks);
    // The store forgets its row by then.
    reservations.open(2, 1, BLOCK_VALID_MS + BLOCK_MEMORY_MS + 1);
    reservations.putBack(1);
    expect(reservations.takeUnsaved()).toEqual([]);
  });
});

it('a block is a fifteenth of a window, one slot at least, 64 at most, and no more than the store takes', () => {
  expect([1, 60, 120, 6_000].map((size) => blockSize(size, 1_000))).toEqual([1, 4, 8, 64]);
  expect(blockSize(6_000, 4)).toBe(4);
});
