import { fraction, mix } from '../hash.ts';

const DAY_MS = 86_400_000;
/** Greatest growth of the distance between neighbours in a small collection. */
const MAX_GROWTH_MS = 3_600_000;

/**
 * When the initial items were created: dense towards the epoch, so that the newest jobs are still unfinished, and back
 * to the horizon. Rises strictly with the slot in a collection of fewer than some 10 million items.
 * @param spacing milliseconds between the newest ones
 * @param horizonDays age of the oldest ones at the epoch, about
 */
export function initialAges(
  epoch: number,
  size: number,
  spacing: number,
  salt: number,
  horizonDays: number,
): (slot: number) => number {
  const horizon = horizonDays * DAY_MS;
  const step = Math.min(spacing, horizon / 2 / Math.max(1, size));
  const growth = Math.min(MAX_GROWTH_MS, Math.max(0, horizon - step * size) / Math.max(1, size * size));
  return (slot) => {
    const age = size - 1 - slot;
    return Math.floor(
      epoch - 1000 - step * (age + 0.5 * fraction(mix(salt + 81, slot))) - growth * age * age,
    );
  };
}
