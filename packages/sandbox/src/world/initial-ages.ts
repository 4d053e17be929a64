import { fraction, mix } from '../hash.ts';

/** The oldest items are some two years old. */
const HORIZON_MS = 730 * 86_400_000;
/** Greatest growth of the distance between neighbours in a small collection. */
const MAX_GROWTH_MS = 3_600_000;

/**
 * When the initial items were created: dense towards the epoch, so that the newest jobs are still unfinished, and back
 * to two years before. Rises strictly with the slot in a collection of fewer than some 10 million items.
 * @param spacing milliseconds between the newest ones
 */
export function initialAges(
  epoch: number,
  size: number,
  spacing: number,
  salt: number,
): (slot: number) => number {
  const step = Math.min(spacing, HORIZON_MS / 2 / Math.max(1, size));
  const growth = Math.min(MAX_GROWTH_MS, Math.max(0, HORIZON_MS - step * size) / Math.max(1, size * size));
  return (slot) => {
    const age = size - 1 - slot;
    return Math.floor(
      epoch - 1000 - step * (age + 0.5 * fraction(mix(salt + 81, slot))) - growth * age * age,
    );
  };
}
