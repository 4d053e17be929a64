import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Places } from './places.ts';

const STOPPED = new Error('stopped');

interface Waiting {
  readonly id: number;
  readonly stop: AbortController;
}

describe('places', () => {
  it('are never more than there are, and go to who waited longest, whoever leaves or stops waiting', async () => {
    const step = fc.constantFrom('take', 'leave', 'abort');
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 60 }),
        async (count, steps) => {
          const places = new Places(count);
          const inside: { id: number; leave: () => void }[] = [];
          const waiting: Waiting[] = [];
          const entering: Promise<unknown>[] = [];
          let next = 0;
          const enter = async (from: Places, one: Waiting): Promise<void> => {
            const leave = await from.take(one.stop.signal);
            expect(one).toBe(waiting.shift());
            inside.push({ id: one.id, leave });
          };
          for (const each of steps) {
            if (each === 'take') {
              const one = { id: next++, stop: new AbortController() };
              waiting.push(one);
              entering.push(enter(places, one).catch((error: unknown) => error));
            } else if (each === 'leave') {
              const [first] = inside.splice(0, 1);
              first?.leave();
              first?.leave();
            } else waiting.pop()?.stop.abort(STOPPED);
            await settled();
            expect(inside.length).toBeLessThanOrEqual(count);
            if (waiting.length > 0) expect(inside).toHaveLength(count);
          }
          for (const { stop } of waiting.splice(0)) stop.abort(STOPPED);
          for (const error of await Promise.all(entering)) expect([undefined, STOPPED]).toContain(error);
        },
      ),
    );
  });

  it('refuse those who wait, and none who comes later', async () => {
    const places = new Places(1);
    const leave = await places.take();
    const waiting = [places.take(), places.take()];
    const refused = Promise.allSettled(waiting);
    places.refuse(new Error('no connection'));
    expect((await refused).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const later = places.take();
    leave();
    await expect(later).resolves.toBeTypeOf('function');
  });
});

function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
