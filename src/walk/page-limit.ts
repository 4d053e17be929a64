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
export function limitToAsk(
  { fits, well }: PageLimit,
  accepted: number | null,
  wanted?: number,
): number | null {
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
