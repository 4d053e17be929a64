/** What is known when a 429 comes. */
export interface Refusal {
  /** `X-RateLimit-Limit` of the 429 itself, and of the same route's accepted answers. */
  readonly limit: number | undefined;
  readonly routeLimit: number | undefined;
  /** An earlier 429 of the group has named this limit, and no accepted answer since. */
  readonly namedAgain: boolean;
  /** Slots that the group allowed itself. */
  readonly size: number;
  /** Slots in use of all groups together, and of this one. */
  readonly usedOverall: number;
  readonly used: number;
  /** Requests of other users of the key, as `Remaining` has shown them lately. */
  readonly foreign: number;
  /** Others' use has explained a 429 within the hour. */
  readonly blamedForeign: boolean;
  /** The group was paced already when the request was sent. */
  readonly paced: boolean;
}

/** The likely reason of a 429; what to do follows from it. */
export type Cause =
  | { readonly kind: 'overall-limit'; readonly limit: number }
  | { readonly kind: 'lower-limit'; readonly limit: number }
  | { readonly kind: 'foreign-use' }
  | { readonly kind: 'unexplained' };

/**
 * Explains a 429 (docs/design/rate-limit.md, "After a 429"). Our own log excludes it: somebody else used the key, or
 * the limiter is not the one of specification 8.2. Others' use explains one 429 an hour.
 */
export function explain(refusal: Refusal): Cause {
  const { limit, routeLimit, used, usedOverall, namedAgain } = refusal;
  // The 429 names another limit than the route's. It is one over all endpoints where the group alone did not reach it;
  // else the group's own may have been lowered, which accepted answers would say, too.
  if (limit !== undefined && routeLimit !== undefined && limit !== routeLimit && usedOverall >= limit) {
    if (used < limit || namedAgain) return { kind: 'overall-limit', limit };
  }
  if (limit !== undefined && limit < refusal.size) return { kind: 'lower-limit', limit };
  if (refusal.foreign > 0 && !refusal.blamedForeign) return { kind: 'foreign-use' };
  // Refused although this group was paced, while other groups were busy: their sum is limited.
  if (refusal.paced && refusal.foreign === 0 && usedOverall > used) {
    return { kind: 'overall-limit', limit: Math.max(1, usedOverall - 1) };
  }
  return { kind: 'unexplained' };
}
