import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GroupBudget, OtherUsers, Pace, type RateAnswer } from './group-budget.ts';
import { RouteLimits } from './rate-headers.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const T = 1_000_000;

describe('a pace', () => {
  it('leaves a thirtieth free for an hour, and after each further 429 a quarter more, for twice as long', () => {
    const pace = new Pace();
    const learnt = Array.from({ length: 9 }, (_, minutes) => {
      const now = T + minutes * 60_000;
      pace.learn(60, now);
      return [pace.limit, pace.isStrict, (pace.until - now) / HOUR];
    });
    expect(learnt).toEqual([
      [58, false, 1],
      [57, false, 2],
      [56, false, 4],
      [55, false, 8],
      [53, false, 16],
      [51, false, 24],
      [48, false, 24],
      [45, true, 24],
      [41, true, 24],
    ]);
  });

  it('begins again with a thirtieth once it is over, and with an hour a day after that', () => {
    const pace = new Pace();
    pace.learn(60, T);
    pace.learn(60, T + 1);
    pace.learn(60, T + 1 + 3 * HOUR);
    expect([pace.limit, pace.until]).toEqual([58, T + 1 + 7 * HOUR]);
    pace.learn(60, T + 1 + 7 * HOUR + DAY);
    expect(pace.until).toBe(T + 1 + 7 * HOUR + DAY + HOUR);
  });

  it('has no rate where something explains the 429, and keeps the one that it has', () => {
    const pace = new Pace();
    pace.learn(undefined, T);
    expect([pace.isOn(T), pace.limit]).toEqual([true, Infinity]);
    pace.learn(30, T + 1);
    pace.learn(undefined, T + 2);
    expect(pace.limit).toBe(29);
  });
});

describe('the limit of a group', () => {
  const limits = (answers: readonly (readonly [route: string, limit: number])[], now = T): RouteLimits => {
    const all = new RouteLimits(60);
    for (const [route, limit] of answers) all.observe(route, limit, now, true);
    return all;
  };

  it('falls at once, and rises after ten accepted answers to the least that they named', () => {
    expect(limits([['a', 30]]).believed(T)).toBe(30);
    const nine = limits(fill(9, ['a', 600]));
    expect([nine.believed(T), nine.named(T)]).toEqual([60, 600]);
    nine.observe('a', 500, T, true);
    expect(nine.believed(T)).toBe(500);
  });

  it('is the smallest of its routes, for an hour after it was named', () => {
    const both = limits([...fill(10, ['a', 600] as const), ['b', 20]]);
    expect(both.believed(T)).toBe(20);
    both.observe('a', 600, T + HOUR, true);
    expect([both.named(T + HOUR), both.believed(T + HOUR)]).toEqual([600, 20]);
    expect(limits([['a', 20]]).named(T + HOUR)).toBe(60);
  });

  it('is never raised by a 429, which begins the count of answers anew, and lowered by one at once', () => {
    const group = new GroupBudget('other', 1);
    const named = (limit: number) => answered(T, { limit, remaining: limit });
    for (let answers = 0; answers < 9; answers += 1) group.accepted(named(600));
    group.refused(named(600));
    group.accepted(named(600));
    expect(group.limits.believed(T)).toBe(60);
    group.refused({ ...named(12), sentAt: T + 100, receivedAt: T + 150 });
    expect(group.limits.believed(T)).toBe(12);
  });
});

/** Answers that a group may get, one after another: what the service says of others, and 429s. */
const answer = fc.record({
  afterMs: fc.integer({ min: 1, max: 40_000 }),
  limit: fc.constantFrom(5, 60, 600),
  remaining: fc.integer({ min: 0, max: 60 }),
  refused: fc.boolean(),
});

function answered(sentAt: number, { limit, remaining }: { limit: number; remaining: number }): RateAnswer {
  const headers = { limit, remaining, resetInMs: undefined, retryAfterMs: undefined };
  return { route: 'a', sentAt, receivedAt: sentAt + 50, headers };
}

describe('whatever a service answers', () => {
  it('others never push a group below one request each 12 s, or a quarter of its limit where that is less', () => {
    fc.assert(
      fc.property(fc.array(answer, { maxLength: 60 }), fc.constantFrom(1, 0.8), (answers, share) => {
        const group = new GroupBudget('other', share);
        let now = T;
        for (const { afterMs, ...each } of answers) {
          now += afterMs;
          group.sent(now, false);
          group.accepted(answered(now, each));
          const least = Math.max(1, Math.floor(Math.min(5, group.limit(now) / 4)));
          expect(group.size(now)).toBeGreaterThanOrEqual(Math.min(least, group.shared(now)));
        }
      }),
    );
  });

  it('a request goes within its slots and a quarter of an hour, whatever is refused', () => {
    fc.assert(
      fc.property(fc.array(answer, { maxLength: 60 }), (answers) => {
        const group = new GroupBudget('other', 1);
        let now = T;
        for (const { afterMs, refused, ...each } of answers) {
          now += afterMs;
          const at = group.admission(now, false, 0);
          expect(at).toBeLessThanOrEqual(now + 901_000);
          if (at > now) continue;
          expect(group.log.used(now)).toBeLessThan(group.size(now));
          group.sent(now, false);
          if (refused) group.refused(answered(now, each));
          else group.accepted(answered(now, each));
        }
      }),
    );
  });
});

it('a 429 is explained by others who were seen, or by a lower limit that it names the first time', () => {
  const group = new GroupBudget('other', 1);
  const refuse = (now: number, limit: number): string | undefined => {
    group.sent(now, false);
    return group.refused(answered(now, { limit, remaining: 0 }));
  };
  expect(refuse(T, 60)).toBeUndefined();
  expect(refuse(T + 10, 60)).toBe('earlier');
  expect(refuse(T + 1_000, 40)).toBe('lower');
  group.pace.learn(40, T + 1_000);
  expect(refuse(T + 2_000, 30)).toBeUndefined();
  group.sent(T + 3_000, false);
  group.accepted(answered(T + 3_000, { limit: 30, remaining: 5 }));
  expect(refuse(T + 4_000, 30)).toBe('others');
});

describe('others’ use of a key', () => {
  it('is the highest of the last 65 s, as a plain list has it', () => {
    const step = fc.record({
      afterMs: fc.integer({ min: 0, max: 30_000 }),
      use: fc.integer({ min: -5, max: 60 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const others = new OtherUsers();
        const seen: { at: number; use: number }[] = [];
        let now = T;
        for (const [index, { afterMs, use }] of steps.entries()) {
          now += afterMs;
          // No value stays: `Remaining` differs from the one before.
          others.observe(100 + use + index, 100 + index, 0, now);
          seen.push({ at: now, use });
          const recent = seen.filter(({ at }) => at + 65_000 > now).map((each) => Math.max(0, each.use));
          expect(others.highest(now)).toBe(Math.max(...recent));
        }
      }),
    );
  });

  it.each([
    [0, 0],
    [1, 3],
    [9, 13],
    [30, 37],
  ])('of %i leaves them %i slots: a margin for their next window', (use, headroom) => {
    const others = new OtherUsers();
    others.observe(60, 60 - use, 0, T);
    expect(others.headroom(T)).toBe(headroom);
    expect(others.headroom(T + 65_000)).toBe(0);
  });
});

const fill = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

describe('a Remaining that stays for two windows', () => {
  /** Of answers each 12 s, with our own use beside them. */
  it.each<[string, readonly (readonly [remaining: number, ours: number] | '429')[], boolean]>([
    ['at 0 is not ignored before', fill(10, [0, 5]), false],
    ['at 0 is ignored', fill(11, [0, 5]), true],
    ['at another value, as even use of others leaves it, is not ignored', fill(20, [4, 5]), false],
    ['while our own use changed is ignored', [[4, 2], ...fill(10, [4, 5] as const)], true],
    [
      'counts from each 429: a user who takes every slot leaves it at 0',
      [...fill(10, [0, 5] as const), '429', ...fill(10, [0, 5] as const)],
      false,
    ],
    ['is not ignored while it shows no other user', fill(30, [0, 60]), false],
  ])('%s', (_, values, ignored) => {
    const others = new OtherUsers();
    const seen = values.map((value, index) =>
      value === '429' ? others.refused() : others.observe(60, value[0], value[1], T + index * 12_000),
    );
    expect(seen.includes(true)).toBe(ignored);
  });

  it('is ignored for a further hour where it was never above that, though it moves', () => {
    const others = new OtherUsers();
    for (let index = 0; index <= 10; index++) others.observe(60, 4, index < 1 ? 1 : 5, T + index * 12_000);
    const until = others.ignoredUntil;
    expect(others.observe(60, 4, 30, until)).toBe(true);
    expect(others.ignoredUntil).toBe(until + 3_600_000);
    expect(others.observe(60, 2, 60, until + 3_600_000)).toBe(false);
    expect(others.observe(60, 2, 57, until + 3_600_000)).toBe(true);
    expect(others.observe(60, 4, 55, until + 7_200_000)).toBe(true);
    others.observe(60, 5, 55, until + 7_200_001);
    expect(others.observe(60, 4, 30, until + 10_800_000)).toBe(false);
    expect(others.highest(until + 10_800_000)).toBe(26);
  });

  it('is ignored for an hour, and shows no other user meanwhile', () => {
    const others = new OtherUsers();
    for (let index = 0; index <= 10; index++) others.observe(60, 0, 5, T + index * 12_000);
    const at = T + 120_000;
    expect([others.highest(at), others.ignoredUntil]).toEqual([0, at + 3_600_000]);
    others.observe(60, 10, 5, at + 3_599_999);
    expect(others.highest(at + 3_599_999)).toBe(0);
    others.observe(60, 10, 5, at + 3_600_000);
    expect(others.highest(at + 3_600_000)).toBe(45);
  });
});
