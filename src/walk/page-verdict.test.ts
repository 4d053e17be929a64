import { expect, it } from 'vitest';
import { newReading, type Reading } from './reading.ts';
import { pageVerdict } from './take-page.ts';

type PageFacts = Parameters<typeof pageVerdict>[0];

/** A walk that has read 9, 8 and 7, in a list without a known order, and asks for what follows. */
const ASKED: Reading = { ...newReading(0), cursor: '7', recent: ['9', '8', '7'], first: '9', pages: 1 };

/** Of a page after 7 that brings 6 and 5; `keys` that are not in `recent` are fresh unless given otherwise. */
function verdict(changes: Partial<PageFacts>): string {
  const { asked = ASKED, keys = ['6', '5'] } = changes;
  const { verdict: said, provenEnd } = pageVerdict({
    asked,
    keys,
    fresh: keys.filter((key) => !asked.recent.includes(key)),
    items: keys.length,
    hasMore: true,
    offers: undefined,
    ordered: false,
    fromStart: false,
    widest: 3,
    rows: 9,
    ...changes,
  });
  return provenEnd ? `${said}, proven` : said;
}

const OLD = { hasMore: undefined, keys: ['8', '7'] };
const TOP_AGAIN = { keys: ['9', '8', '4'], fromStart: true };
const NO_OFFER = { hasMore: undefined, offers: 'none' } as const;
const BACK = { ...ASKED, cursor: '9' };
const CURSORS_ROW = { keys: ['7'], hasMore: false };

it.each<[string, string, Partial<PageFacts>]>([
  ['with new items', 'on', {}],
  ['with new items, without has_more', 'on', { hasMore: undefined }],
  ['with a new item in order', 'on', { ordered: true, keys: ['7', '6'] }],
  ['that says has_more: false', 'end, proven', { hasMore: false }],
  ['that says more follow, old', 'stuck', { keys: ['9'] }],
  ['that says more follow, from the start', 'stuck', { keys: ['9'], fromStart: true }],
  ['that says more follow, of the cursor’s row', 'stuck', { keys: ['7'] }],
  ['that says more follow, without keys', 'stuck', { keys: [], items: 2 }],
  ['that says more follow, empty', 'stuck', { keys: [] }],
  ['in unknown order whose last item is new: the walk goes on after that', 'on', { keys: ['8', '6'] }],
  ['in unknown order whose last item is old', 'stuck', { keys: ['6', '9'] }],
  ['in unknown order that begins at the top again', 'stuck', TOP_AGAIN],
  ['in order that begins at the top again', 'on', { ...TOP_AGAIN, ordered: true, fresh: ['4'] }],
  ['without has_more or new items, shorter than others', 'end, proven', OLD],
  ['without has_more or new items, as wide as others', 'stuck', { ...OLD, widest: 2 }],
  ['without has_more or new items, that offers a cursor', 'stuck', { ...OLD, offers: 'one' }],
  ['that offers no cursor where the service does', 'end', NO_OFFER],
  ['that offers none, from the start', 'stuck', { ...NO_OFFER, fromStart: true }],
  ['that offers none, and says more follow', 'on', { offers: 'none' }],
  ['without new items that leads to a row after the cursor', 'again', { asked: BACK, keys: ['8', '7'] }],
  ['without new items that leads back', 'stuck', { asked: BACK, keys: ['8', '9'] }],
  ['without new items from the top', 'again', { asked: { ...ASKED, cursor: null }, keys: ['9'] }],
  ['of the cursor’s row alone', 'stuck', CURSORS_ROW],
  ['of it, once seen again', 'end, proven', { ...CURSORS_ROW, asked: { ...ASKED, again: '7' } }],
])('a page %s: %s', (_, expected, changes) => {
  expect(verdict(changes)).toBe(expected);
});

const empty = { keys: [], items: 0 } as const;

it.each([
  [false, 'end, proven'],
  [undefined, 'end, proven'],
  [true, 'stuck'],
])('an empty page from the top with has_more %s: %s', (hasMore, expected) => {
  expect(verdict({ ...empty, asked: newReading(0), hasMore })).toBe(expected);
});

it('an empty page after a cursor ends the walk only the second time, the row before it having been seen between', () => {
  for (const hasMore of [true, false, undefined]) {
    const after = (more: Partial<Reading>) => verdict({ ...empty, hasMore, asked: { ...ASKED, ...more } });
    expect([after({}), after({ again: '7' }), after({ empties: 1 })]).toEqual(['stuck', 'stuck', 'stuck']);
    expect(after({ again: '7', empties: 1 })).toBe('end');
  }
});
