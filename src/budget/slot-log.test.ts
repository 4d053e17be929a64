import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Moments } from './slot-log.ts';

describe('a log of moments', () => {
  it('counts like a plain list, whatever was added and forgotten', () => {
    const step = fc.record({
      add: fc.integer({ min: 0, max: 500 }),
      prune: fc.option(fc.integer({ min: 0, max: 300 })),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), fc.integer({ min: 0, max: 500 }), (steps, asked) => {
        const log = new Moments();
        let plain: number[] = [];
        let pruned = 0;
        for (const { add, prune } of steps) {
          const moment = Math.max(add, pruned + 1);
          log.add(moment);
          plain.push(moment);
          if (prune === null) continue;
          pruned = Math.max(pruned, prune);
          log.prune(pruned);
          plain = plain.filter((each) => each > pruned);
        }
        const later = plain.filter((each) => each > asked);
        expect(log.countAfter(asked)).toBe(later.length);
        expect(log.nextAfter(asked)).toBe(later.length === 0 ? undefined : Math.min(...later));
      }),
    );
  });
});
