import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NEAR, type Outcome, play, type Scenario, SLOW } from '../../test/support/budget/budget-scenario.ts';
import {
  blocking,
  both,
  fixedWindow,
  perGroup,
  slidingCounter,
  slidingLog,
  tokenBucket,
  wholeSeconds,
  withRemaining,
  type Limiter,
  type Verdict,
} from '../../test/support/budget/limiters.ts';
import { defaultLimit, RATE_GROUPS } from './rate-groups.ts';
import { runs } from '../../test/support/effort.ts';

/**
 * The budget against whole services in virtual time: the scenarios of the design's model of the budget. Latency
 * jitters from tens of milliseconds to seconds.
 */
const MINUTE = 60_000;
const seed = fc.integer({ min: 0, max: 1_000_000 });

const between = (moments: readonly number[], from: number, to = Infinity): number =>
  moments.filter((at) => at >= from && at < to).length;
const isIgnored = ({ events }: Outcome): boolean => events.some(({ kind }) => kind === 'remaining-ignored');
/** Requests in a minute that a sliding log of 60 permits. */
const possible = ({ meanResponseMs }: Outcome): number => (60 * MINUTE) / (60_250 + meanResponseMs);

/** Limiters that accept every client whose sliding log is honest. */
const honest: Record<string, (limit: number, offset: number) => Limiter> = {
  'a strict sliding log': (limit) => slidingLog(limit),
  'a sliding log that counts refused requests too': (limit) => slidingLog(limit, { countsRefused: true }),
  'a fixed window': (limit, offset) => fixedWindow(limit, offset),
  'a token bucket': (limit) => tokenBucket(limit),
};

const LIMITS = { other: 60, sequence: 20, clay_enrich: 5, bulk_lists: 2 } as const;

/** Ways in which the budget's life may be hard without a request being refused for it. */
const life = fc.record({
  workers: fc.integer({ min: 1, max: 20 }),
  share: fc.constantFrom(1, 0.8, 0.3),
  group: fc.constantFrom(...(Object.keys(LIMITS) as (keyof typeof LIMITS)[])),
  lost: fc.constantFrom(0, 0.02, 0.2),
  unsent: fc.constantFrom(0, 0.02, 0.5),
  kills: fc.option(fc.integer({ min: 1_000, max: 90_000 })),
  graceful: fc.constantFrom(0, 0.3),
  goesOnMs: fc.option(fc.integer({ min: 100, max: 30_000 })),
  pages: fc.constantFrom(0, 0.5, 1),
  failingPages: fc.constantFrom(0, 0.5),
});

describe.each(Object.entries(honest))('against %s', (_name, limiter) => {
  it('no request is refused: not by jitter, lost answers, lost pages, kills or takeovers', async () => {
    await fc.assert(
      fc.asyncProperty(seed, life, async (seed, { kills, goesOnMs, lost, group, ...rest }) => {
        const outcome = await play({
          seed,
          minutes: 6,
          limiter: limiter(LIMITS[group], seed % 60_000),
          groups: [group],
          network: { lost },
          ...(kills === null ? {} : { killEveryMs: kills }),
          ...(goesOnMs === null ? {} : { goesOnMs }),
          ...rest,
        });
        expect(outcome.refusedAt).toEqual([]);
        // Killed each second with one slot a minute, the few attempts may all be ones that never leave.
        if (rest.unsent < 0.5) expect(outcome.sentAt.length).toBeGreaterThan(0);
      }),
      { numRuns: runs(8, 40) },
    );
  });

  it.each([
    [0, 0.97],
    [0.5, 0.95],
  ])('what is possible is sent, although %f of the attempts never leave', async (unsent, part) => {
    const outcome = await play({ seed: 7, minutes: 20, limiter: limiter(60, 17_000), unsent });
    expect(outcome.refusedAt).toEqual([]);
    expect(outcome.sentAt.length / 20).toBeGreaterThan(part * possible(outcome));
  });
});

it('kills cost little when pages carry what came free', async () => {
  const killed = { killEveryMs: 12_000, network: NEAR };
  const outcome = await play({ seed: 3, minutes: 10, limiter: slidingLog(60), ...killed });
  expect(outcome.refusedAt).toEqual([]);
  expect(outcome.sentAt.length / 10).toBeGreaterThan(57);
});

it.each<[string, () => Limiter, minutes: number, atLeast: number]>([
  ['a sliding counter', () => slidingCounter(60), 20, 40],
  ['a token bucket with a burst of 5', () => tokenBucket(60, 5), 60, 45],
  ['a token bucket without a burst', () => tokenBucket(60, 1), 60, 34],
  ['a limit that is half of what its headers say', () => lying(30, 60), 40, 17],
  ['a second limit over all endpoints', () => both(slidingLog(60), slidingLog(40)), 20, 35],
])('what refuses what a sliding log allows is learnt: %s', async (_name, limiter, minutes, atLeast) => {
  for (const seed of [1, 2, 3]) {
    const outcome = await play({ seed, minutes, limiter: limiter() });
    expect(between(outcome.refusedAt, 15 * MINUTE)).toBe(0);
    expect(outcome.refusedAt.length).toBeLessThan(30);
    expect(outcome.sentAt.length / minutes).toBeGreaterThan(atLeast);
    expect(outcome.events.some((event) => event.message.includes('one request every'))).toBe(true);
  }
});

it.each([
  ['0 is ignored after two windows, with a message', 0, true],
  ['7 is ignored after two windows, with a message', 7, true],
  ['60 shows no other user of the key, and costs nothing', 60, false],
])('a Remaining stuck at %s', async (_, stuck, ignored) => {
  const limiter = withRemaining(slidingLog(60), () => stuck);
  const outcome = await play({ seed: 2, minutes: 13, limiter, network: NEAR });
  expect(outcome.refusedAt).toEqual([]);
  expect(between(outcome.sentAt, 3 * MINUTE) / 10).toBeGreaterThan(57);
  expect([outcome.events.length > 0, isIgnored(outcome)]).toEqual([ignored, ignored]);
});

describe('another user of the key', () => {
  it('is left room for, and refuses us next to nothing', async () => {
    let [sent, refused, foreignSent, foreignRefused] = [0, 0, 0, 0];
    for (const seed of [1, 2, 3, 4]) {
      const outcome = await play({ seed, minutes: 60, limiter: slidingLog(60), foreignPerMinute: 30 });
      sent += outcome.sentAt.length;
      refused += outcome.refusedAt.length;
      foreignSent += outcome.foreignAt.length;
      foreignRefused += outcome.foreignRefusedAt.length;
    }
    expect(refused / sent).toBeLessThan(0.005);
    expect(sent / 240).toBeGreaterThan(12);
    expect(foreignRefused / foreignSent).toBeLessThan(0.2);
  });

  it('who takes every slot for twenty minutes is never taken for a Remaining that counts nothing', async () => {
    for (let seed = 1; seed <= runs(30, 300); seed += 1) {
      const others = { foreignPerMinute: 120, share: 0.8, network: NEAR };
      const outcome = await play({ seed, minutes: 20, limiter: slidingLog(60), ...others });
      expect(outcome.foreignRefusedAt.length / outcome.foreignAt.length).toBeGreaterThan(0.3);
      expect(isIgnored(outcome)).toBe(false);
    }
  });

  it.each(['evenly', 'at random', 'in bursts'] as const)(
    'who wants half of it, %s, beside the usual share is refused less than 2 %% after two windows, and we nothing',
    async (foreignComes) => {
      const others = { foreignPerMinute: 30, foreignComes, share: 0.8, network: NEAR };
      const outcome = await play({ seed: 1, minutes: 15, limiter: slidingLog(60), ...others });
      const late = (moments: readonly number[]): number => between(moments, 2 * MINUTE);
      expect(late(outcome.refusedAt)).toBe(0);
      expect(late(outcome.foreignRefusedAt) / late(outcome.foreignAt)).toBeLessThan(0.02);
      expect(outcome.sentAt.length / 15).toBeGreaterThan(8);
      expect(isIgnored(outcome)).toBe(false);
    },
  );
});

const SILENT = { headers: () => ({}) };
/** One over all endpoints that blocks the key for a minute. */
const overAll = (): Limiter =>
  both(
    perGroup((group) => slidingLog(defaultLimit(group))),
    blocking(slidingLog(60), MINUTE),
  );
it.each<[string, () => Limiter, Partial<Scenario>, most: number]>([
  ['a sliding counter', () => slidingCounter(60), {}, 5],
  ['a log of whole seconds', () => wholeSeconds(60), {}, 5],
  ['a token bucket with a burst of 20', () => tokenBucket(60, 20), {}, 5],
  ['a token bucket with a burst of 5', () => tokenBucket(60, 5), {}, 5],
  ['a sliding counter without headers', () => slidingCounter(60), { network: SILENT }, 5],
  ['a log of whole seconds without headers', () => wholeSeconds(60), { network: SILENT }, 5],
  ['a token bucket with a burst of 20, without headers', () => tokenBucket(60, 20), { network: SILENT }, 5],
  ['a token bucket with a burst of 5, without headers', () => tokenBucket(60, 5), { network: SILENT }, 5],
  ['one over all endpoints', overAll, { groups: RATE_GROUPS, workers: 100 }, 5],
  ['one over all endpoints, slow', overAll, { groups: RATE_GROUPS, workers: 100, network: SLOW }, 12],
])(
  'an odd limiter refuses a few of the first hour, then one an hour, and is used: %s',
  async (_name, limiter, { network, ...more }, most) => {
    const scenario = { seed: 1, minutes: 180, workers: 60, network: { ...NEAR, ...network }, ...more };
    const outcome = await play({ limiter: limiter(), ...scenario });
    expect(between(outcome.refusedAt, 0, 60 * MINUTE)).toBeLessThanOrEqual(most);
    expect(between(outcome.refusedAt, 60 * MINUTE) / 2).toBeLessThanOrEqual(1);
    expect(between(outcome.sentAt, 10 * MINUTE) / 170).toBeGreaterThan(0.9 * possible(outcome));
  },
);

const seconds = ({ retryInMs }: Verdict): string => String(Math.ceil(retryInMs / 1_000));
const NONSENSE = { 'x-ratelimit-limit': '-5', 'x-ratelimit-remaining': 'many', 'retry-after': 'later' };
it.each<[string, (verdict: Verdict) => Record<string, string>]>([
  ['missing', () => ({})],
  ['with a Retry-After in ms', ({ retryInMs }) => ({ 'retry-after': String(Math.ceil(retryInMs)) })],
  ['with a Reset as a delta', (verdict) => ({ 'x-ratelimit-reset': seconds(verdict) })],
  ['nonsense', () => NONSENSE],
])('headers that are %s cost nothing, and no storm', async (_name, headers) => {
  const played = (limiter: Limiter) =>
    play({ seed: 1, minutes: 60, limiter, network: { ...NEAR, headers }, workers: 60 });
  const strict = await played(slidingLog(60));
  expect(strict.refusedAt).toEqual([]);
  expect(strict.sentAt.length / 60).toBeGreaterThan(0.99 * possible(strict));
  expect((await played(slidingCounter(60))).refusedAt.length).toBeLessThanOrEqual(5);
});

it.each([{}, { 'x-ratelimit-remaining': '999999' }])(
  'a limit of 5,000 in the headers of a service that accepts 60 costs no more than was accepted before: %o',
  async (more) => {
    const headers = (verdict: Verdict): Record<string, string> => ({
      'x-ratelimit-limit': '5000',
      ...more,
      ...(verdict.accepted ? {} : { 'retry-after': seconds(verdict) }),
    });
    const lifted = { network: { ...NEAR, headers }, workers: 300 };
    const outcome = await play({ seed: 1, minutes: 20, limiter: slidingLog(60), ...lifted });
    expect(outcome.refusedAt.length).toBeLessThan(40);
  },
);

/** What was sent within a minute, counted from the first request. */
function sentIn(minute: number, { sentAt: [first = 0, ...others] }: Outcome): number {
  return between(others, first + minute * MINUTE, first + (minute + 1) * MINUTE);
}

describe('a limit of 600 in place of 60', () => {
  const beside = { foreignPerMinute: 100, share: 0.8, workers: 100, network: NEAR };

  it.each(['evenly', 'at random', 'in bursts'] as const)(
    'of which others use 100, %s, leaves us the rest from the first minute on',
    async (foreignComes) => {
      const others = { ...beside, foreignForMs: 65_000, foreignComes };
      for (let seed = 1; seed <= runs(3, 30); seed += 1) {
        const outcome = await play({ seed, minutes: 6, limiter: slidingLog(600), ...others });
        expect(outcome.refusedAt).toEqual([]);
        expect(Math.min(...[0, 1, 2, 3, 4].map((minute) => sentIn(minute, outcome)))).toBeGreaterThan(420);
        expect(isIgnored(outcome)).toBe(false);
      }
    },
  );

  it('is used beside others after a plan’s change, too', async () => {
    const limiter = slidingLog((now) => (now < 5 * MINUTE ? 60 : 600));
    const outcome = await play({ seed: 1, minutes: 8, limiter, ...beside });
    expect(sentIn(5, outcome)).toBeGreaterThan(40);
    expect(sentIn(7, outcome)).toBeGreaterThan(420);
  });
});

it.each([8, 100])(
  'a limit that is lowered for 80 s costs a 429 or two, and is used again a window later: %i workers',
  async (workers) => {
    for (const from of [200_000, 215_000]) {
      const limiter = slidingLog((now) => (now >= from && now < from + 80_000 ? 12 : 60));
      const outcome = await play({ seed: 1, minutes: 9, limiter, share: 0.8, network: NEAR, workers });
      expect(outcome.refusedAt.length).toBeLessThan(5);
      expect(sentIn(7, outcome)).toBeGreaterThanOrEqual(46);
    }
  },
);

it('answers that take up to ten seconds cost neither a 429 nor slots: 99 % of what is possible is sent', async () => {
  const outcome = await play({ seed: 1, minutes: 30, limiter: slidingLog(60), network: SLOW, workers: 100 });
  expect(outcome.refusedAt).toEqual([]);
  const returns = outcome.sentAt.slice(60).map((at, index) => at - (outcome.sentAt[index] ?? at));
  const mean = returns.reduce((sum, each) => sum + each, 0) / returns.length;
  expect((60_250 + outcome.meanResponseMs) / mean).toBeGreaterThan(0.99);
});

/** A sliding log with other headers than its own. */
function lying(real: number, shown: number): Limiter {
  const log = slidingLog(real);
  return { ask: (now) => ({ ...log.ask(now), limit: shown, remaining: real }) };
}
