import { expect, it } from 'vitest';
import { askedAtMost } from './asked-at-most.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';

const MINUTE = (): number => 60_000;

it('asks once a minute, and gives the last answer at once while the new one is awaited', async () => {
  const clock = new VirtualClock();
  const asked: ((value: number) => void)[] = [];
  const ask = askedAtMost(
    clock,
    () => new Promise<number>((resolve) => asked.push(resolve)),
    MINUTE,
    Infinity,
  );
  const [first, second] = [ask(), ask()];
  asked[0]?.(1);
  expect([await first, await second, await ask()]).toEqual([1, 1, 1]);
  await clock.advance(60_000);
  expect([await ask(), await ask()]).toEqual([1, 1]);
  expect(asked).toHaveLength(2);
  asked[1]?.(2);
  await clock.advance(0);
  expect(await ask()).toBe(2);
});

it('asks again after a failure, which only the first to ask gets', async () => {
  const clock = new VirtualClock();
  let fails = true;
  const ask = askedAtMost(
    clock,
    () => (fails ? Promise.reject(new Error('no')) : Promise.resolve(1)),
    MINUTE,
    Infinity,
  );
  await expect(ask()).rejects.toThrow('no');
  fails = false;
  expect(await ask()).toBe(1);
  fails = true;
  await clock.advance(60_000);
  expect(await ask()).toBe(1);
  await clock.advance(0);
  fails = false;
  expect(await ask()).toBe(1);
});

it('has those wait who ask when the last answer is too old', async () => {
  const clock = new VirtualClock();
  let value = 1;
  const ask = askedAtMost(clock, () => Promise.resolve(value), MINUTE, 150_000);
  expect(await ask()).toBe(1);
  value = 2;
  await clock.advance(150_000);
  expect(await ask()).toBe(1);
  await clock.advance(0);
  expect(await ask()).toBe(2);
  value = 3;
  await clock.advance(150_001);
  expect(await ask()).toBe(3);
});
