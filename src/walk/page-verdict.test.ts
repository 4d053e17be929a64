import { describe, expect, it } from 'vitest';
import { newReading, type Reading } from './reading.ts';
import { pageVerdict, type PageFacts } from './page-verdict.ts';

/** A walk that has read 9, 8 and 7, in a list without a known order, and asks for what follows. */
const ASKED: Reading = { ...newReading(0), cursor: '7', recent: ['9', '8', '7'], first: '9', pages: 1 };

/** A page after 7 that brings 6 and 5; `keys` that are not in `recent` are fresh unless given otherwise. */
function facts(changes: Partial<PageFacts>): PageFacts {
  const { asked = ASKED, keys = ['6', '5'] } = changes;
  const fresh = keys.filter((key) => !asked.recent.includes(key));
  return {
    asked,
    keys,
    fresh,
    items: keys.length,
    hasMore: true,
    offers: undefined,
    ordered: false,
    fromStart: false,
    widest: 3,
    rows: 9,
    ...changes,
  };
}

function verdict(changes: Partial<PageFacts>): string {
  const { verdict: said, provenEnd } = pageVerdict(facts(changes));
  return provenEnd ? `${said}, proven` : said;
}

describe('a page', () => {
  it('brings the walk on by new items', () => {
    expect(verdict({})).toBe('on');
    expect(verdict({ hasMore: undefined })).toBe('on');
    expect(verdict({ ordered: true, keys: ['7', '6'] })).toBe('on');
  });

  it('that says has_more: false is the end', () => {
    expect(verdict({ hasMore: false })).toBe('end, proven');
  });

  it('that says more follow is never the end, however short and old it is', () => {
    expect(verdict({ keys: ['9'] })).toBe('stuck');
    expect(verdict({ keys: ['9'], fromStart: true })).toBe('stuck');
    expect(verdict({ keys: ['7'] })).toBe('stuck');
    expect(verdict({ keys: [], items: 2 })).toBe('stuck');
    expect(verdict({ keys: [] })).toBe('stuck');
  });

  it('in an unknown order brings the walk on only when its last item is new: the walk goes on after that', () => {
    expect(verdict({ keys: ['8', '6'] })).toBe('on');
    expect(verdict({ keys: ['6', '9'] })).toBe('stuck');
  });

  it('that begins at the top again does not bring the walk on in an unknown order, though its last item is new', () => {
    expect(verdict({ keys: ['9', '8', '4'], fromStart: true })).toBe('stuck');
    expect(verdict({ keys: ['9', '8', '4'], fromStart: true, ordered: true, fresh: ['4'] })).toBe('on');
  });

  it('without has_more and without new items is the end where it is shorter than others, unless it offers a cursor', () => {
    const old = { hasMore: undefined, keys: ['8', '7'] } as const;
    expect(verdict(old)).toBe('end, proven');
    expect(verdict({ ...old, widest: 2 })).not.toMatch(/end/);
    expect(verdict({ ...old, offers: 'one' })).not.toMatch(/end/);
  });

  it('that offers no cursor where the service offers them is the end, which proves nothing, unless it is the top', () => {
    expect(verdict({ hasMore: undefined, offers: 'none' })).toBe('end');
    expect(verdict({ hasMore: undefined, offers: 'none', fromStart: true })).toBe('stuck');
    expect(verdict({ hasMore: true, offers: 'none' })).toBe('on');
  });

  it('without new items leads forward only to a row that was read after the cursor', () => {
    const back = { ...ASKED, cursor: '9' };
    expect(verdict({ asked: back, keys: ['8', '7'] })).toBe('again');
    expect(verdict({ asked: back, keys: ['8', '9'] })).toBe('stuck');
    const top = { ...ASKED, cursor: null };
    expect(verdict({ asked: top, keys: ['9'] })).toBe('again');
  });

  it('of the cursor’s row alone is the end only once a step back has shown that row', () => {
    const again = { ...ASKED, again: '7' };
    expect(verdict({ keys: ['7'], hasMore: false })).toBe('stuck');
    expect(verdict({ keys: ['7'], hasMore: false, asked: again })).toBe('end, proven');
  });
});

describe('an empty page', () => {
  const empty = { keys: [], items: 0 } as const;

  it('from the top is an empty scope, unless it says that more follow', () => {
    const asked = newReading(0);
    expect(verdict({ ...empty, asked, hasMore: false })).toBe('end, proven');
    expect(verdict({ ...empty, asked, hasMore: undefined })).toBe('end, proven');
    expect(verdict({ ...empty, asked, hasMore: true })).toBe('stuck');
  });

  it('after a cursor proves no end, and ends the walk only the second time, the row before it having been seen between', () => {
    for (const hasMore of [true, false, undefined]) {
      expect(verdict({ ...empty, hasMore })).toBe('stuck');
      expect(verdict({ ...empty, hasMore, asked: { ...ASKED, again: '7' } })).toBe('stuck');
      expect(verdict({ ...empty, hasMore, asked: { ...ASKED, empties: 1 } })).toBe('stuck');
      expect(verdict({ ...empty, hasMore, asked: { ...ASKED, again: '7', empties: 1 } })).toBe('end');
    }
  });
});
