import { describe, expect, it } from 'vitest';
import { VirtualClock } from './virtual-clock.ts';

describe('virtual time', () => {
  it('fires timers by due time, then in the order in which they were set', async () => {
    const clock = new VirtualClock();
    const seen: string[] = [];
    const log = async (name: string, ms: number): Promise<void> => {
      await clock.sleep(ms);
      seen.push(`${name}@${String(clock.monotonic())}`);
    };
    await clock.runUntil(Promise.all([log('c', 20), log('a', 10), log('d', 20), log('b', 10), log('e', 5)]));
    expect(seen).toEqual(['e@5', 'a@10', 'b@10', 'c@20', 'd@20']);
  });

  it('keeps the order of many timers', async () => {
    const clock = new VirtualClock();
    const fired: number[] = [];
    for (let i = 0; i < 500; i++) clock.after((i * 7919) % 503, () => fired.push(clock.monotonic()));
    await clock.runUntilIdle();
    expect(fired).toHaveLength(500);
    expect(fired).toEqual(fired.toSorted((a, b) => a - b));
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
    expect(seen).toEqual([10, -1, 11]);
    expect(clock.monotonic()).toBe(20);
  });

  it('throws when a promise can never settle', async () => {
    const clock = new VirtualClock();
    await expect(clock.runUntil(new Promise(() => {}))).rejects.toThrow('did not settle');
  });
});
