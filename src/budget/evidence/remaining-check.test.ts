import { expect, it } from 'vitest';
import { RemainingCheck } from './remaining-check.ts';

type Sample = Parameters<RemainingCheck['isBroken']>[0];

/** Six answers, each so long after the last one. */
const six = (everyMs: number, remaining: number, foreign = 0): Sample[] =>
  Array.from({ length: 6 }, (_, i) => ({ at: i * everyMs, remaining, foreign }));
const burst = six(100, 0);
const even = six(30_000, 4, 25);
const moved = { at: -1_000, remaining: 30, foreign: 3 };

/** `brokenAt`: the sample that is found broken; -1: none. */
it.each<[string, Sample[], brokenAt: number, cameFree?: boolean]>([
  ['is broken when five requests within a second do not move it', burst, 4],
  ['is honest when slots of ours may have come free meanwhile', burst, -1, true],
  ['is honest when it moves', burst.map((each, i) => ({ ...each, remaining: 60 - i })), -1],
  // Others' slots come free meanwhile.
  [
    'that moved before is honest though a burst does not move it',
    [{ ...moved, remaining: 1, foreign: 0 }, ...burst],
    -1,
  ],
  ['is broken when it claims use by others for more than two windows and never moves', six(30_000, 4, 55), 5],
  ['is honest when it claims none', six(30_000, 4), -1],
  ['that moved before is honest when it stays beside even use', [moved, ...even], -1],
  [
    'that moved before is broken when it stays although our own use changes',
    [moved, ...even, { at: 180_000, remaining: 4, foreign: 22 }],
    7,
  ],
])('Remaining %s', (_, samples, brokenAt, cameFree = false) => {
  const check = new RemainingCheck();
  expect(samples.findIndex((sample) => check.isBroken(sample, () => cameFree))).toBe(brokenAt);
});

it('Remaining that stays leaves us requests again: else nothing would find it broken', () => {
  const check = new RemainingCheck();
  check.refused();
  expect(check.tested).toBe(true);
  for (const sample of six(30_000, 0, 59)) check.isBroken(sample, () => false);
  expect(check.tested).toBe(false);
});

it('Remaining of 0 is honest while 429s confirm it, and broken when twelve requests over more than two windows do not', () => {
  const check = new RemainingCheck();
  const zeros = Array.from({ length: 40 }, (_, i) => ({
    at: i * 20_000,
    remaining: 0,
    foreign: 55 + (i % 5),
  }));
  const isBroken = (sample: Sample): boolean => check.isBroken(sample, () => false);
  for (const [i, zero] of zeros.entries()) {
    if (i % 10 === 0) check.refused();
    expect(isBroken(zero)).toBe(false);
  }
  check.refused();
  expect(zeros.findIndex(isBroken)).toBe(11);
});
