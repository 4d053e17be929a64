import { expect, it } from 'vitest';
import { VirtualClock } from './virtual-clock.ts';

it('fires timers by due time, then in the order in which they were set', async () => {
  const clock = new VirtualClock();
  const fired: [due: number, order: number, at: number][] = [];
  for (let order = 0; order < 500; order++) {
    const due = (order * 7919) % 53;
    clock.after(due, () => fired.push([due, order, clock.monotonic()]));
  }
  await clock.runUntilIdle();
  expect(fired).toHaveLength(500);
  expect(fired).toEqual(fired.toSorted(([a, first], [b, second]) => a - b || first - second));
  expect(fired.filter(([due, , at]) => due !== at)).toEqual([]);
});

it('runs everything that a timer started before time moves on', async () => {
  const clock = new VirtualClock();
  const seen: number[] = [];
  const chain = async (): Promise<void> => {
    await clock.sleep(10);
    for (let i = 0; i < 50; i++) await Promise.resolve();
    seen.push(clock.monotonic());
    await clock.sleep(1);
    seen.push(clock.monotonic());
  };
  void chain();
  clock.after(11, () => seen.push(-1));
  await clock.advance(20);
  expect([...seen, clock.monotonic()]).toEqual([10, -1, 11, 20]);
});

it('throws when a promise can never settle', async () => {
  await expect(new VirtualClock().runUntil(new Promise(() => {}))).rejects.toThrow('did not settle');
});
