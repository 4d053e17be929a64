import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LearntChanges, NOTHING_LEARNT } from './learnt-changes.ts';
import {
  countsFrom,
  earlyPolls,
  earnsAfter,
  type PolledCollection,
  type PolledLists,
} from './early-polls.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const rested = { perMinute: 48, readsBelow: false };

/** A collection that was seen to change so often for a day. */
function changing(perHour: number, cost = 1, announced = 0): LearntChanges {
  const changes = perHour * 8.66;
  return { changes, announced: changes * announced, watchedMs: 8.66 * HOUR, cost };
}

function polled(learnt: LearntChanges, lineMs = MINUTE): PolledCollection {
  return { learnt, lineMs };
}

/** Requests a minute that collections have in all. */
function spent(collections: readonly PolledCollection[], intervals: readonly number[]): number {
  return collections.reduce(
    (sum, { learnt, lineMs }, index) =>
      sum + (MINUTE * learnt.cost) / Math.min(lineMs, intervals[index] ?? 0),
    0,
  );
}

const anyCollection = fc
  .record({
    perHour: fc.double({ min: 0, max: 5_000, noNaN: true }),
    cost: fc.integer({ min: 1, max: 5 }),
    announced: fc.double({ min: 0, max: 1, noNaN: true }),
    lineMs: fc.constantFrom(MINUTE, 2 * MINUTE, 5 * MINUTE, HOUR, Number.POSITIVE_INFINITY),
  })
  .map(({ perHour, cost, announced, lineMs }) => polled(changing(perHour, cost, announced), lineMs));
const anyLists: fc.Arbitrary<PolledLists | undefined> = fc.option(
  fc.record({
    requests: fc.integer({ min: 0, max: 5_000 }),
    lineMs: fc.constantFrom(MINUTE, HOUR),
    need: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
  }),
  { nil: undefined },
);
const anyAccount = fc.record({
  collections: fc.array(anyCollection, { minLength: 1, maxLength: 6 }),
  lists: anyLists,
  perMinute: fc.integer({ min: 1, max: 600 }),
  readsBelow: fc.boolean(),
});

describe('polls between the cron line’s runs', () => {
  it('are earned by changes: fifty requests for each, the line’s own among them', () => {
    const few = [polled(changing(3)), polled(NOTHING_LEARNT)];
    const intervals = earlyPolls(few, undefined, rested);
    // 150 an hour, which is 90 more than the line sends; all of it is for the collection that changes most.
    const [busy = 0, quiet = 0] = intervals;
    expect(spent(few, intervals) - 2).toBeCloseTo((50 * 3 * 8.66) / 9.66 / 60 - 1, 3);
    expect(busy).toBeLessThan(quiet);
    expect(earlyPolls([polled(changing(1)), polled(NOTHING_LEARNT)], undefined, rested)).toEqual([
      Number.POSITIVE_INFINITY,
      Number.POSITIVE_INFINITY,
    ]);
  });

  it('never send more than that, nor anything where no change came unannounced', () => {
    fc.assert(
      fc.property(anyAccount, ({ collections, lists, ...account }) => {
        const intervals = earlyPolls(collections, lists, account);
        const most = collections.reduce((sum, { learnt, lineMs }) => {
          const line = (MINUTE * learnt.cost) / lineMs;
          return (
            sum + (lineMs > 5 * MINUTE ? line : Math.max(line, (MINUTE * learnt.cost) / earnsAfter(learnt)))
          );
        }, 0);
        expect(spent(collections, intervals)).toBeLessThanOrEqual(most * 1.000_001);
        const silent = collections.map(({ learnt, lineMs }) => ({
          learnt: { ...learnt, announced: learnt.changes },
          lineMs,
        }));
        for (const interval of earlyPolls(silent, lists, account)) expect(interval).toBe(Infinity);
      }),
    );
  });

  it('leave a part of what the lines leave, and lists what their line takes, up to half', () => {
    fc.assert(
      fc.property(anyAccount, ({ collections, lists, ...account }) => {
        const intervals = earlyPolls(collections, lists, account);
        const lines = spent(
          collections,
          collections.map(() => Number.POSITIVE_INFINITY),
        );
        const rest = Math.max(0, account.perMinute - lines);
        const line = lists === undefined ? 0 : (MINUTE * lists.requests) / lists.lineMs;
        const ofLists = line <= rest / 2 ? line : Math.max(0, rest - line);
        const share = account.readsBelow ? 0.5 : 0.95;
        const most = lines + share * (rest - ofLists);
        expect(spent(collections, intervals)).toBeLessThanOrEqual(most * 1.000_001);
      }),
      { numRuns: 2_000 },
    );
  });

  it('come, where requests are short, by the square root of what each changes; a slower line is kept', () => {
    const three = [polled(changing(4_000)), polled(changing(1_000)), polled(changing(4_000), HOUR)];
    const [often = 0, seldom = 0, slow] = earlyPolls(three, undefined, { perMinute: 12, readsBelow: false });
    expect(seldom / often).toBeCloseTo(2, 2);
    expect(slow).toBe(Number.POSITIVE_INFINITY);
  });

  it('are none where nothing is free', () => {
    const three = [1, 2, 3].map(() => polled(changing(1_000)));
    expect(earlyPolls(three, undefined, { perMinute: 3, readsBelow: false })).toEqual([
      Infinity,
      Infinity,
      Infinity,
    ]);
  });

  it('have one price with lists that are too many for their line', () => {
    const jobs = changing(100);
    const root = Math.sqrt((1 + jobs.changes) / (HOUR + jobs.watchedMs));
    const requests = (need: number | undefined, lists: number): number => {
      const one = [polled(jobs)];
      const ofLists = { requests: lists, lineMs: MINUTE, need };
      return spent(one, earlyPolls(one, ofLists, { perMinute: 41, readsBelow: false }));
    };
    // A collection and lists that need as much share what there is.
    expect(requests(root, 5_000)).toBeCloseTo(1 + 0.95 * 19.5, 3);
    expect(requests(root / 4, 5_000)).toBeCloseTo(1 + 0.95 * 31.8, 3);
    // Lists get no more than their line takes, and up to half of the rest all of that.
    expect(requests(root * 1_000, 30)).toBeCloseTo(1 + 0.95 * 10, 3);
    expect(requests(root / 1_000, 20)).toBeCloseTo(1 + 0.95 * 20, 3);
    expect(requests(undefined, 5_000)).toBeCloseTo(1 + 0.95 * 20, 3);
    // Between half and all of the rest, what is theirs in any case falls to nothing.
    const seldom = [20, 21, 30, 39, 40, 50].map((lists) => requests(root / 1_000, lists));
    const left = [20, 21, 30, 39, 40, 40].map((polls) => 1 + 0.95 * polls);
    for (const [index, polls] of seldom.entries()) expect(polls).toBeCloseTo(left[index] ?? Number.NaN, 1);
  });
});

it('an interval counts from the planned moment, unless the poll is early, or later than an interval', () => {
  expect(countsFrom(100, 103, 10)).toBe(100);
  expect(countsFrom(100, 97, 10)).toBe(97);
  expect(countsFrom(100, 110, 10)).toBe(110);
});
