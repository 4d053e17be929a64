/** How far a walk has read: what every walk's state holds. */
export interface Reading {
  /** Cursor of the page to ask next; null: the top. */
  readonly cursor: string | null;
  /** The server offered `cursor` (`next_cursor`): it is not an item's key, and can't be compared. */
  readonly token: boolean;
  /** The cursor of the page that offered `cursor`, for the ladder; null: the top; undefined: not known. */
  readonly back: string | null | undefined;
  /** The last page may be the list's last: it offered no cursor and had no `has_more`. */
  readonly maybeLast: boolean;
  /** n > 0: first look up the nth stored live row before `cursor`, and go on after that. */
  readonly seek: number;
  /** Keys read last, the newest last: the last one, and five for the ladder. */
  readonly recent: readonly string[];
  /** Steps back on the cursor ladder since the last progress. */
  readonly rung: number;
  /** Pages since the last progress that were empty. */
  readonly empties: number;
  /** Key of the item before the page asked for now, where a step back has just shown that item; else null. */
  readonly again: string | null;
  /** How often it began again from the top. */
  readonly restarts: number;
  /** First key of its first page; null before that, and for a walk that did not begin at the top. */
  readonly first: string | null;
  /** When it was begun, milliseconds since the epoch. */
  readonly began: number;
  /** Greatest age (ms) of its pages in an intermediate cache: what it read is as of so much before `began`. */
  readonly agedMs: number;
  /** When the page with `first` was answered. */
  readonly firstAt: number;
  /** Distinct rows seen in key order without a break, as far as they are counted. */
  readonly run: number;
  /** The page is asked for again with more items: so far none of them has a usable key. */
  readonly keyless: Keyless | null;
  /**
   * Items that its first page is asked for, where so few will do. Null: as many as there may be. `in-full`: the few
   * were refused, or said that nothing follows them; the page is asked for once more, with all.
   */
  readonly few: number | 'in-full' | null;
  /** `limit` being tried in place of the remembered one; undefined: none. */
  readonly trying: number | null | undefined;
  readonly pages: number;
  readonly items: number;
}

/** A small page without an item to go on after; greater pages are too large. */
export interface Keyless {
  /** Items that it had. */
  readonly items: number;
  /** Items that are asked for now. */
  readonly ask: number;
}

/** At the top of the list, with nothing read. */
export const AT_TOP = {
  cursor: null,
  token: false,
  back: undefined,
  maybeLast: false,
  seek: 0,
  recent: [],
  rung: 0,
  empties: 0,
  again: null,
  first: null,
  run: 0,
  keyless: null,
  few: null,
} as const satisfies Partial<Reading>;

export function newReading(now: number): Reading {
  const none = { restarts: 0, agedMs: 0, trying: undefined, pages: 0, items: 0 };
  return { ...AT_TOP, ...none, began: now, firstAt: now };
}

/** Keys of `recent`: the last one, and the previous five (docs/design/walks.md, "The ladder"). */
export const RECENT = 6;
/** Where a reading stands. */
export type Position = Pick<Reading, 'cursor' | 'token' | 'back' | 'seek' | 'rung' | 'again' | 'keyless'>;

/**
 * The key beyond which the page asked for now should lie. Null at the top, and after a token where it is not known:
 * no key was read before, or the token is an earlier one.
 */
export function askedAfter({ token, recent, cursor, rung, again }: Reading): string | null {
  if (!token) return cursor;
  return again ?? (rung > 0 ? null : (recent.at(-1) ?? null));
}

/** As of when the walk read, milliseconds since the epoch. */
export function readAsOf({ began, agedMs }: Reading): number {
  return began - agedMs;
}
