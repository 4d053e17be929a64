import fc from 'fast-check';
import { expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { ByteRate } from './byte-rate.ts';

it('gives no more than its burst and so much a second, and all of a burst after a quiet time', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(5_000), fc.nat(1_500)), { maxLength: 40 }),
      async (happenings) => {
        const clock = new VirtualClock();
        const rate = new ByteRate(clock, { perSecond: 100, burst: 1_000 });
        let [taken, passed] = [0, 0];
        for (const [ms, bytes] of happenings) {
          await clock.advance(ms);
          passed += ms;
          const could = rate.has(bytes);
          expect(rate.take(bytes)).toBe(could);
          if (could) taken += bytes;
          expect(taken).toBeLessThanOrEqual(1_000 + passed / 10 + 1e-6);
        }
        await clock.advance(10_000);
        expect(rate.take(1_000)).toBe(true);
        expect(rate.take(1)).toBe(false);
      },
    ),
  );
});

it('leaves to small ones what a large one does not find', async () => {
  const clock = new VirtualClock();
  const rate = new ByteRate(clock, { perSecond: 100, burst: 1_000 });
  expect(rate.take(1_000)).toBe(true);
  await clock.advance(1_000);
  expect(rate.take(1_000)).toBe(false);
  expect(rate.take(100)).toBe(true);
});
