import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HintBucket } from './hint-bucket.ts';

it('the hints’ part of the budget never gives more than half of the budget and five, in whatever steps it is asked', () => {
  const step = fc.record({ ms: fc.nat(5_000), wants: fc.nat(8) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 600 }), (steps, perMinute) => {
      const bucket = new HintBucket(0);
      let [now, taken] = [0, 0];
      for (const { ms, wants } of steps) {
        now += ms;
        const some = Math.min(wants, bucket.tokens(now, perMinute));
        bucket.spend(some);
        taken += some;
        expect(taken).toBeLessThanOrEqual(5 + (now * perMinute) / 120_000 + 1e-5 * (steps.length + 1));
      }
      const wait = bucket.waitMs(now, perMinute);
      expect(bucket.tokens(now + wait, perMinute)).toBeGreaterThan(0);
    }),
  );
});
