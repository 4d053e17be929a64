import type { Random } from '@research-mirror/runtime/clock';
import { seeded } from '../../support/random.ts';

/** Choices drawn from one seed: the same seed draws the same. */
export class Draw {
  readonly random: Random;

  constructor(seed: number) {
    this.random = seeded(Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995);
  }

  /** True in `share` of the cases. */
  chance(share: number): boolean {
    return this.random() < share;
  }

  /** A whole number from `from` to `to`, both included. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from + 1));
  }

  one<T>(of: readonly [T, ...T[]]): T;
  one<T>(of: readonly T[]): T | undefined;
  one<T>(of: readonly T[]): T | undefined {
    return of[Math.floor(this.random() * of.length)];
  }

  /** A name, with a chance in proportion to its weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][];
    let dice = this.random() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      dice -= weight;
      if (dice < 0) return name;
    }
    throw new RangeError('nothing to choose from');
  }
}
