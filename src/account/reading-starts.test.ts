import { expect, it } from 'vitest';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { readingStarts } from './reading-loops.ts';

const NEVER = new AbortController().signal;

/** Readings that end when they are told to. */
function readings() {
  const clock = new VirtualClock();
  const starts = readingStarts(clock);
  const begun: PromiseWithResolvers<void>[] = [];
  const begin = (signal = NEVER): Promise<void> =>
    starts.begin(() => {
      const reading = Promise.withResolvers<void>();
      begun.push(reading);
      return reading.promise;
    }, signal);
  return { clock, begun, begin };
}

it('readings of many accounts begin a few at a time, and the next one when one ends', async () => {
  const { clock, begun, begin } = readings();
  const all = Array.from({ length: 1000 }, () => begin());
  await clock.advance(0);
  const atOnce = begun.length;
  expect(atOnce).toBeLessThan(100);
  begun[0]?.resolve();
  await clock.advance(0);
  expect(begun).toHaveLength(atOnce + 1);
  for (let ended = 1; ended < all.length; ended += 1) {
    begun[ended]?.resolve();
    await clock.advance(0);
  }
  await Promise.all(all);
});

it('long readings of many accounts block none: all have begun after some minutes', async () => {
  const { clock, begun, begin } = readings();
  for (let each = 0; each < 1000; each += 1) void begin();
  await clock.advance(180_000);
  expect(begun).toHaveLength(1000);
});

it('readings of many accounts get the place of one that failed, and stop waiting at a stop', async () => {
  const { clock, begun, begin } = readings();
  const stop = new AbortController();
  const failing = begin();
  await clock.advance(0);
  begun[0]?.reject(new Error('no answer'));
  await expect(failing).rejects.toThrow('no answer');
  const waiting = Array.from({ length: 1000 }, () => begin(stop.signal));
  await clock.advance(0);
  const atOnce = begun.length - 1;
  stop.abort(new Error('stopped'));
  const ends = Promise.allSettled(waiting);
  for (const each of begun) each.resolve();
  const reasons = (await ends).filter((each) => each.status === 'rejected');
  expect(reasons).toHaveLength(1000 - atOnce);
});
