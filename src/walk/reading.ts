/** How far a walk has read: the state that all walks share. */
export interface Reading {
  /** Cursor of the next page; null: the top. */
  readonly cursor: string | null;
  /** `cursor` is the server's own (`next_cursor`), not an item's key, and can't be compared. */
  readonly token: boolean;
  /** Cursor of the page that offered `cursor`, for the ladder; null: the top; undefined: unknown. */
  readonly back: string | null | undefined;
  /** The last page may end the list: it offered no cursor and had no `has_more`. */
  readonly maybeLast: boolean;
  /** n > 0: look up the nth stored live row before `cursor` first, and go on after it. */
  readonly seek: number;
  /** The last six keys read, the newest last: five of them are for the ladder. */
  readonly recent: readonly string[];
  /** Steps back on the cursor ladder since the last progress. */
  readonly rung: number;
  /** Empty pages since the last progress. */
  readonly empties: number;
  /** Key of the item before the requested page if a step back has just shown it; else null. */
  readonly again: string | null;
  /** Number of restarts from the top. */
  readonly restarts: number;
  /** First key of the first page; null before it, and if the walk did not begin at the top. */
  readonly first: string | null;
  /** Start, milliseconds since the epoch. */
  readonly began: number;
  /** Greatest age of its pages in a cache on the way, ms: its rows are as of that much before `began`. */
  readonly agedMs: number;
  /** Time of the answer with `first`. */
  readonly firstAt: number;
  /** Distinct rows seen in key order without a break; counted up to the evidence needed. */
  readonly run: number;
  /** Set while the page is requested again with more items, since none has a usable key so far. */
  readonly keyless: Keyless | null;
  /**
   * Items of a small first page; null: a full one. `in-full`: the small page was refused, or claimed to be the last,
   * so a full one is requested.
   */
  readonly few: number | 'in-full' | null;
  /** `limit` under trial in place of the remembered one; undefined: none. */
  readonly trying: number | null | undefined;
  readonly pages: number;
  readonly items: number;
}

/** A small page without a usable key; larger pages don't fit. */
export interface Keyless {
  /** Items of the last attempt. */
  readonly items: number;
  /** Items requested now. */
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

/** Length of `recent`: the last key and five for the ladder (docs/design/walks.md, "The ladder"). */
export const RECENT = 6;
/** Position of a walk in its list. */
export type Position = Pick<Reading, 'cursor' | 'token' | 'back' | 'seek' | 'rung' | 'again' | 'keyless'>;

/**
 * The key after which the requested page should begin. Null at the top, and after a token if no key was read before it
 * or the token is an earlier one.
 */
export function askedAfter({ token, recent, cursor, rung, again }: Reading): string | null {
  if (!token) return cursor;
  return again ?? (rung > 0 ? null : (recent.at(-1) ?? null));
}

/** The moment that the walk's rows are as of, milliseconds since the epoch. */
export function readAsOf({ began, agedMs }: Reading): number {
  return began - agedMs;
}
