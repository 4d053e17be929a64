import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { range } from '../../../test/support/walks/walk-steps.ts';
import {
  afterFullPage,
  afterMiss,
  afterSmallPage,
  FIRST_POLL_SIZE,
  type PollNeeds,
  type PollSize,
  rowsToAsk,
} from './poll-size.ts';

const FULL = 500;
const TOP = 10_000;

/** A poll that could stop at its `rows`th row, and read `read`; no other row was due. */
function needing(rows: number, read = FULL, more: Partial<PollNeeds> = {}): PollNeeds {
  const seen = range(TOP, TOP - read + 1);
  return { keyType: 'bigint', seen, low: String(TOP - rows + 1), due: [], lastNews: 0, ...more };
}

/** After so many polls with full pages. */
function quiet(polls: number, needs = needing(200)): PollSize {
  let size = FIRST_POLL_SIZE;
  for (let i = 0; i < polls; i += 1) size = afterFullPage(size, needs);
  return size;
}

describe('the rows that a poll asks for', () => {
  it('are a full page until a hundred polls have shown what is needed', () => {
    expect(rowsToAsk(FIRST_POLL_SIZE)).toBeUndefined();
    expect(rowsToAsk(quiet(99))).toBeUndefined();
    expect(rowsToAsk(quiet(100))).toBe(225);
  });

  it.each([
    [200, 225],
    [210, 250],
    [270, 300],
    [360, 400],
    [370, undefined],
    [500, undefined],
  ])('are for %i needed rows the next size with a tenth to spare: %o', (rows, asked) => {
    expect(rowsToAsk(quiet(100, needing(rows)))).toBe(asked);
  });

  it('hold changed rows and unfinished ones that were due, where a full page would', () => {
    const changed = needing(200, FULL, { lastNews: 290 });
    expect(rowsToAsk(quiet(100, changed))).toBe(400);
    const due = needing(200, FULL, { due: [String(TOP - 249), '3'] });
    expect(rowsToAsk(quiet(100, due))).toBe(300);
  });

  it('are a full page again for a hundred polls after a row was due that this page lacks and a full one has', () => {
    const small = quiet(100);
    const beyondFull = needing(200, 225, { due: [String(TOP - FULL)] });
    expect(rowsToAsk(afterSmallPage(small, beyondFull))).toBe(225);
    const within = needing(200, 225, { due: [String(TOP - FULL + 1)] });
    expect(rowsToAsk(afterSmallPage(small, within))).toBeUndefined();
  });

  it('cost a request more in less than one of a hundred polls, whatever comes', () => {
    const gap = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 90, max: 130 }));
    const burst = fc.record({ gap, rows: fc.integer({ min: 200, max: 700 }) });
    fc.assert(
      fc.property(fc.array(burst, { minLength: 1, maxLength: 20 }), (bursts) => {
        let size = FIRST_POLL_SIZE;
        let polls = 0;
        let misses = 0;
        for (const rows of bursts.flatMap((each) => [...Array<number>(each.gap).fill(200), each.rows])) {
          polls += 1;
          const asked = rowsToAsk(size);
          if (asked === undefined) size = afterFullPage(size, needing(rows, Math.max(FULL, rows)));
          else if (rows <= asked) size = afterSmallPage(size, needing(rows, asked));
          else {
            misses += 1;
            size = afterMiss(size);
          }
        }
        expect(misses).toBeLessThan(polls / 100);
      }),
      { numRuns: 60 },
    );
  });
});
