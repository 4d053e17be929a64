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

/** A small page without a usable key, where larger pages don't fit: items of the last attempt, items requested now. */
export type Keyless = Readonly<Record<'items' | 'ask', number>>;

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

/**
 * `limit` of list requests (specification 8.1), stored per scope (docs/design/walks.md, "Page size"). A refusal lowers
 * it: 500, 100, then no parameter. So does a page that is too large to buffer.
 */
export interface PageLimit {
  /** Accepted by the service; null: no parameter, the service's default applies. */
  readonly value: number | null;
  /** A page came with this limit, so a later refusal has another reason. */
  readonly proven: boolean;
  /** Items of a page that fitted after a larger one did not; null: no page was too large. */
  readonly fits: number | null;
  /** Pages with `fits` items since then: after 20 the next larger size is tried once. */
  readonly well: number;
  /** Most items on a page so far: services may send fewer than requested. */
  readonly widest: number;
  /** A small page was refused or claimed to be the last, and a full one showed otherwise. */
  readonly onlyFull: boolean;
}

export const FIRST_LIMIT: PageLimit = {
  value: 500,
  proven: false,
  fits: null,
  well: 0,
  widest: 0,
  onlyFull: false,
};

const ACCEPTED = [500, 100, null] as const;
const SIZES = [500, 100, 20, 5, 1] as const;
const WELL_BEFORE_GREATER = 20;

/** The next limit to try after `refused`; undefined: there is none. */
export function lowerLimit(refused: number | null): number | null | undefined {
  return ACCEPTED[ACCEPTED.findIndex((limit) => limit === refused) + 1];
}

/** Items of a full page with this `limit`; null: the service's default (specification 8.1). */
export function itemsOfFullPage(limit: number | null): number {
  return limit ?? 100;
}

/**
 * The limit of the next request.
 * @param accepted the limit that the service accepts or may accept
 * @param wanted items that are needed, even if they may not fit
 */
export function limitToAsk({ fits, well }: PageLimit, accepted: number | null, wanted?: number): number | null {
  if (wanted !== undefined) return wanted < itemsOfFullPage(accepted) ? wanted : accepted;
  if (fits === null) return accepted;
  const greater = SIZES.findLast((size) => size > fits) ?? fits;
  const size = well < WELL_BEFORE_GREATER ? fits : greater;
  return size < itemsOfFullPage(accepted) ? size : accepted;
}

/**
 * Whether to request a page of only `few` items (docs/design/walks.md, "One row"): the service accepts a larger limit,
 * and the list is too long for one full page, which would be a proof.
 */
export function mayBeFew({ value, proven, fits, onlyFull }: PageLimit, rows: number, few: number): boolean {
  const isKnown = value !== null && proven && fits === null && !onlyFull;
  return isKnown && few < value && rows >= 2 * value;
}

/** The state after a page with the limit `asked` was too large; undefined: there is no smaller one. */
export function afterTooLarge(limit: PageLimit, asked: number | null): PageLimit | undefined {
  const smaller = SIZES.find((size) => size < itemsOfFullPage(asked));
  return smaller === undefined ? undefined : { ...limit, fits: smaller, well: 0 };
}

/** The state after a page of `items` with the limit `asked`; the same object if nothing is new. */
export function afterPage(
  limit: PageLimit,
  { accepted, asked, items }: { accepted: number | null; asked: number | null; items: number },
): PageLimit {
  const proven = asked === accepted || (limit.proven && accepted === limit.value);
  const widest = Math.max(limit.widest, items);
  const same = accepted === limit.value && proven === limit.proven && widest === limit.widest;
  if (limit.fits === null) return same ? limit : { ...limit, value: accepted, proven, widest };
  const size = itemsOfFullPage(asked);
  const grown = { ...limit, value: accepted, proven, widest, well: 0 };
  if (size >= itemsOfFullPage(accepted)) return { ...grown, fits: null };
  return size > limit.fits ? { ...grown, fits: size } : { ...grown, well: limit.well + 1 };
}
