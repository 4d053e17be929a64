import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Places } from './places.ts';

describe('places', () => {
  it('are never more than there are, and go to who waited longest, whoever leaves or stops waiting', async () => {
    const step = fc.oneof(fc.constant('take'), fc.constant('leave'), fc.constant('abort'));
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { maxLength: 60 }),
        async (count, steps) => {
          const places = new Places(count);
          const inside: { id: number; leave: () => void }[] = [];
          const waiting: { id: number; stop: AbortController }[] = [];
          const served: number[] = [];
          let next = 0;
          const enter = async (
            from: Places,
            { id, stop }: { id: number; stop: AbortController },
          ): Promise<void> => {
            const leave = await from.take(stop.signal);
            waiting.splice(
              waiting.findIndex((one) => one.id === id),
              1,
            );
            inside.push({ id, leave });
            served.push(id);
          };
          for (const each of steps) {
            if (each === 'take') {
              const id = next++;
              const stop = new AbortController();
              waiting.push({ id, stop });
              void enter(places, { id, stop }).catch(() => {});
            } else if (each === 'leave') {
              const [first] = inside.splice(0, 1);
              first?.leave();
              first?.leave();
            } else waiting.pop()?.stop.abort(new Error('stopped'));
            await settled();
            expect(inside.length).toBeLessThanOrEqual(count);
            if (waiting.length > 0) expect(inside).toHaveLength(count);
          }
          expect(served).toEqual(served.toSorted((a, b) => a - b));
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
