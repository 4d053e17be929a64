import { expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { Doorbell } from './doorbell.ts';

const forever = new AbortController().signal;

it('remembers rings as one while nobody waits', async () => {
  const bell = new Doorbell();
  bell.ring();
  bell.ring();
  await bell.heard(forever);
  expect(bell.rung).toBe(false);
});

it('releases its waiter when the signal aborts, and keeps a later ring', async () => {
  const bell = new Doorbell();
  const controller = new AbortController();
  const heard = bell.heard(controller.signal);
  controller.abort(new Error('enough'));
  await expect(heard).rejects.toThrow('enough');
  bell.ring();
  expect(bell.rung).toBe(true);
});

it('is heard within a time, which passes where it does not ring, and leaves no waiter behind', async () => {
  const bell = new Doorbell();
  const clock = new VirtualClock();
  let heard = 0;
  const wait = (ms: number): Promise<number> => bell.heardWithin(ms, clock, forever).then(() => (heard += 1));
  void wait(1_000);
  await clock.advance(999);
  expect(heard).toBe(0);
  await clock.advance(1);
  expect(heard).toBe(1);

  void wait(1_000);
  bell.ring();
  await clock.advance(0);
  expect(heard).toBe(2);
  bell.ring();
  expect(await bell.heardWithin(1_000, clock, forever)).toBe(true);
  const passes = bell.heardWithin(1_000, clock, forever);
  await clock.advance(1_000);
  expect(await passes).toBe(false);
  void wait(Number.POSITIVE_INFINITY);
  await clock.advance(1_000_000);
  expect(heard).toBe(2);
  bell.ring();
  await clock.advance(0);
  expect([heard, bell.rung]).toEqual([3, false]);
});
