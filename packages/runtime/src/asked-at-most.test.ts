import { expect, it } from 'vitest';
import { askedAtMost } from './asked-at-most.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';

const ONE = async (): Promise<number> => 1;
const NONE = async (): Promise<number> => {
  throw new Error('no');
};

/** Asks `is.answer` once a minute. */
function asking(answer: () => Promise<number>, oldest = Infinity) {
  const clock = new VirtualClock();
  const is = { answer, asked: 0 };
  const counted = (): Promise<number> => {
    is.asked += 1;
    return is.answer();
  };
  return { clock, is, ask: askedAtMost(clock, counted, () => 60_000, oldest) };
}

it('asks once a minute, and gives the last answer at once while the new one is awaited', async () => {
  const { clock, is, ask } = asking(ONE);
  expect([...(await Promise.all([ask(), ask()])), await ask(), is.asked]).toEqual([1, 1, 1, 1]);
  await clock.advance(60_000);
  const next = Promise.withResolvers<number>();
  is.answer = () => next.promise;
  expect([await ask(), await ask(), is.asked]).toEqual([1, 1, 2]);
  next.resolve(2);
  await clock.advance(0);
  expect(await ask()).toBe(2);
});

it('asks again after a failure, which only the first to ask gets', async () => {
  const { clock, is, ask } = asking(NONE);
  await expect(ask()).rejects.toThrow('no');
  is.answer = ONE;
  expect(await ask()).toBe(1);
  is.answer = NONE;
  await clock.advance(60_000);
  expect(await ask()).toBe(1);
  await clock.advance(0);
  is.answer = ONE;
  expect(await ask()).toBe(1);
});

it('has those wait who ask when the last answer is too old', async () => {
  const { clock, is, ask } = asking(ONE, 150_000);
  expect(await ask()).toBe(1);
  is.answer = async () => 2;
  await clock.advance(150_000);
  expect(await ask()).toBe(1);
  await clock.advance(0);
  expect(await ask()).toBe(2);
  is.answer = async () => 3;
  await clock.advance(150_001);
  expect(await ask()).toBe(3);
});
