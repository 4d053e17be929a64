import type { Reading } from './reading.ts';

/**
 * What becomes of a page:
 * - `on`: it brought new items: the walk goes on after them
 * - `again`: it brought nothing new, but shows again an item whose successors are not known: the walk goes on after
 *   that
 * - `end`: nothing follows it
 * - `stuck`: it brings the walk no further; `why` says what is wrong with it, to follow "page n …"
 */
export interface PageVerdict {
  readonly verdict: 'on' | 'again' | 'end' | 'stuck';
  readonly why: string;
  /** The page itself proves that nothing follows it. */
  readonly provenEnd: boolean;
}

export interface PageFacts {
  /** The walk as it was when it asked. */
  readonly asked: Reading;
  readonly hasMore: boolean | undefined;
  /** The page offers a cursor of the server's own, or says that there is none; undefined: neither. */
  readonly offers: 'one' | 'none' | undefined;
  /** Items of the page, those without a usable key included. */
  readonly items: number;
  /** Keys in the page's order, neighbours distinct. */
  readonly keys: readonly string[];
  /** Those of `keys` that the walk has not read before, as far as it can tell. */
  readonly fresh: readonly string[];
  /** The list has a usable order. */
  readonly ordered: boolean;
  /** The page begins at the top of the list although a cursor was sent. */
  readonly fromStart: boolean;
  /** Most items that a page has brought, and at most what was asked for: a page with fewer was not full. */
  readonly widest: number;
  /** Live rows of the scope, at least. */
  readonly rows: number;
}

export function pageVerdict(facts: PageFacts): PageVerdict {
  const { asked, hasMore, offers, items, keys, fresh, ordered, fromStart } = facts;
  if (items === 0) return judgeEmpty(asked, hasMore);
  if (isCursorAlone(facts) && asked.again === null)
    return stuck('holds nothing but the row that it begins with');
  if (hasMore === false) return PROVEN_END;
  // Without `has_more` it proves nothing beyond its last item.
  if (hasMore === undefined && offers === 'none' && !fromStart) return END;
  if (keys.length === 0) return stuck('has no item with a usable cursor ID, but says that more follow');
  // In an unknown order the walk goes on after the page's last item, which must be new.
  const further = ordered ? fresh.length > 0 : fresh.at(-1) === keys.at(-1) && !fromStart;
  if (further) return ON;
  if (fromStart) return stuck('begins at the top of the list again');
  if (hasMore === undefined && offers !== 'one' && items < facts.widest) return PROVEN_END;
  if (hasMore === undefined && repeatsOnlyRow(facts)) return END;
  return leadsForward(asked, keys) ? AGAIN : stuck('has no new item, but does not say that none follows');
}

/**
 * An empty page after a cursor proves nothing: the cursor's row may be gone. But where pages have one item only, no
 * page can say that its item is the last. So the walk ends when an empty page follows that item, the item is seen
 * again, and an empty page follows it again. (That proves nothing beyond the item.)
 */
function judgeEmpty(asked: Reading, hasMore: boolean | undefined): PageVerdict {
  if (asked.cursor === null && hasMore !== true) return PROVEN_END;
  return asked.again !== null && asked.empties > 0 ? END : stuck('is empty, which proves no end');
}

/**
 * Where a page begins with its cursor's row, a page of that row alone is like an empty one: the row may have moved to
 * the end. It counts once a step back has shown the row in its place.
 */
function isCursorAlone({ asked, keys }: PageFacts): boolean {
  return keys.length > 0 && keys.every((key) => key === asked.cursor);
}

/** The page has only its cursor's row, and the scope no other known row. */
function repeatsOnlyRow({ asked, items, keys, widest, rows }: PageFacts): boolean {
  return items === 1 && keys[0] === asked.cursor && widest <= 1 && rows <= 1;
}

/** The page ends with a row that the walk read after the cursor's. */
function leadsForward({ cursor, recent }: Reading, keys: readonly string[]): boolean {
  const from = cursor === null ? -1 : recent.indexOf(cursor);
  return recent.indexOf(keys.at(-1) ?? '') > from;
}

const ON: PageVerdict = { verdict: 'on', why: '', provenEnd: false };
const AGAIN: PageVerdict = { verdict: 'again', why: '', provenEnd: false };
const END: PageVerdict = { verdict: 'end', why: '', provenEnd: false };
const PROVEN_END: PageVerdict = { verdict: 'end', why: '', provenEnd: true };

function stuck(why: string): PageVerdict {
  return { verdict: 'stuck', why, provenEnd: false };
}
