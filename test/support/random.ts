import type { Random } from '@research-mirror/runtime/clock';

/** A seeded source of randomness (mulberry32): the same seed, the same run. */
export function seeded(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A number from an exponential distribution. */
export function exponential(random: Random, mean: number): number {
  return -mean * Math.log(1 - random());
}
