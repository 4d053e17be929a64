import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GroupBudget, Pace, type RateAnswer } from './group-budget.ts';
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
  const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

  it('falls at once, and rises after ten accepted answers to the least that they named', () => {
    expect(limits([['a', 30]]).believed(T)).toBe(30);
    const nine = limits(times(9, ['a', 600]));
    expect([nine.believed(T), nine.named(T)]).toEqual([60, 600]);
    nine.observe('a', 500, T, true);
    expect(nine.believed(T)).toBe(500);
  });

  it('is the smallest of its routes, for an hour after it was named', () => {
    const both = limits([...times(10, ['a', 600] as const), ['b', 20]]);
    expect(both.believed(T)).toBe(20);
    both.observe('a', 600, T + HOUR, true);
    expect([both.named(T + HOUR), both.believed(T + HOUR)]).toEqual([600, 20]);
    expect(limits([['a', 20]]).named(T + HOUR)).toBe(60);
  });

  it('is never raised by a 429', () => {
    const all = limits(times(9, ['a', 600]));
    all.observe('a', 600, T, false);
    all.observe('a', 600, T, true);
    expect(all.believed(T)).toBe(60);
    all.observe('a', 12, T, false);
    expect(all.believed(T)).toBe(12);
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
