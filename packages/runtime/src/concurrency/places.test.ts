import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Places } from './places.ts';

const STOPPED = new Error('stopped');

it('places are never more than there are, and go to who waited longest, whoever leaves or stops waiting', async () => {
  const steps = fc.array(fc.constantFrom('take', 'leave', 'abort'), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (count, script) => {
      const places = new Places(count);
      const inside: (() => void)[] = [];
      const waiting: AbortController[] = [];
      const entering: Promise<unknown>[] = [];
      const enter = async (stop: AbortController): Promise<void> => {
        const leave = await places.take(stop.signal);
        expect(stop).toBe(waiting.shift());
        inside.push(leave);
      };
      for (const step of script) {
        if (step === 'take') {
          const stop = new AbortController();
          waiting.push(stop);
          entering.push(enter(stop).catch((error: unknown) => error));
        } else if (step === 'leave') {
          const leave = inside.shift();
          leave?.();
          leave?.();
        } else waiting.pop()?.abort(STOPPED);
        await new Promise(setImmediate);
        expect(inside.length).toBeLessThanOrEqual(count);
        if (waiting.length > 0) expect(inside).toHaveLength(count);
      }
      for (const stop of waiting.splice(0)) stop.abort(STOPPED);
      for (const error of await Promise.all(entering)) expect([undefined, STOPPED]).toContain(error);
    }),
  );
});

it('places refuse those who wait, and none who comes later', async () => {
  const places = new Places(1);
  const leave = await places.take();
  const refused = Promise.allSettled([places.take(), places.take()]);
  places.refuse(new Error('no connection'));
  expect((await refused).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const later = places.take();
  leave();
  await expect(later).resolves.toBeTypeOf('function');
});
