import { expect, it } from 'vitest';
import { afterPage, afterTooLarge, FIRST_LIMIT, limitToAsk, lowerLimit, type PageLimit } from './reading.ts';

function came(limit: PageLimit, pages: number): PageLimit {
  let after = limit;
  for (let i = 0; i < pages; i += 1) {
    const { value } = after;
    after = afterPage(after, { accepted: value, asked: limitToAsk(after, value), items: 1 });
  }
  return after;
}

function tooLarge(limit: PageLimit): PageLimit {
  const smaller = afterTooLarge(limit, limitToAsk(limit, limit.value));
  if (smaller === undefined) throw new Error('nothing smaller is left');
  return smaller;
}

it('the page limit tries the next greater one once after 20 pages that came well, and again after 20 more', () => {
  const small = tooLarge(tooLarge(FIRST_LIMIT));
  const trying = came(small, 20);
  const failed = tooLarge(trying);
  const grown = came(trying, 1);
  const asked = [came(small, 19), trying, failed, came(failed, 20), grown];
  expect(asked.map((limit) => limitToAsk(limit, 500))).toEqual([20, 100, 20, 100, 100]);
  expect(came(came(grown, 20), 1)).toMatchObject({ fits: null, value: 500 });
});

it('the page limit knows smaller pages than a service that refuses the parameter gives by itself', () => {
  const none = tooLarge({ ...FIRST_LIMIT, value: null });
  expect([none, came(none, 20)].map((limit) => limitToAsk(limit, null))).toEqual([20, null]);
});

it('the page limit is another thing than a refused one: 500, 100, none', () => {
  expect([lowerLimit(500), lowerLimit(100), lowerLimit(null)]).toEqual([100, null, undefined]);
  const small = came(tooLarge(FIRST_LIMIT), 1);
  expect(small).toMatchObject({ value: 500, proven: false, fits: 100 });
});

it('the page limit changes nothing in memory for a page like those before', () => {
  const proven = came(FIRST_LIMIT, 1);
  expect(came(proven, 1)).toBe(proven);
});
