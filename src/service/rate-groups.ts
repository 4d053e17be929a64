/** The endpoint groups of specification 8.2. Each has its own limit per API key, in a sliding window of 60 seconds. */
const GROUPS = {
  clay_enrich: { limit: 5, endpoints: ['POST /v1/clay/enrich'] },
  research_enrich: { limit: 10, endpoints: ['POST /v1/research', 'POST /v1/enrich'] },
  bulk_lists: {
    limit: 2,
    endpoints: ['POST /v1/research/bulk', 'POST /v1/lists', 'POST /v1/lists/{id}/analyze'],
  },
  sequence: { limit: 20, endpoints: ['POST /v1/research/{id}/sequence'] },
  other: { limit: 60, endpoints: [] as string[] },
};

export type RateGroup = keyof typeof GROUPS;

/** A group, or `all`: one pace of all groups (docs/design/rate-limit.md, "After a 429"). */
export type StoredGroup = RateGroup | 'all';

export const RATE_GROUPS = Object.keys(GROUPS) as readonly RateGroup[];

/** The group in which a request counts. @param method in upper case @param route the path with `{id}` for IDs */
export function rateGroup(method: string, route: string): RateGroup {
  return RATE_GROUPS.find((name) => GROUPS[name].endpoints.includes(`${method} ${route}`)) ?? 'other';
}

/** The group of all reads: no endpoint that is read has its own limit. */
export const READS: RateGroup = 'other';

/** Requests per window that the specification grants a group, until a header names another limit. */
export function defaultLimit(name: RateGroup): number {
  return GROUPS[name].limit;
}

/**
 * Priorities for the next free slot (docs/design/plan.md, "Priorities"): the greater number goes first; equal ones go
 * in order of arrival. Pings and webhook calls use POLL or higher.
 */
export const PRIORITY = {
  /** A POST operation that a user waits for. */
  SUBMISSION: 50,
  /** A read that an event caused, within the hints' part of the budget. */
  HINT: 40,
  /** A due poll or refresh, and a check of the webhook's registration. */
  POLL: 30,
  /** A list's items: of ten thousand lists some are always due. */
  LISTS: 20,
  /** A full walk. It takes turns with lists: neither starves the other. */
  FULL: 20,
} as const;

export type Priority = (typeof PRIORITY)[keyof typeof PRIORITY];

/** While requests of at least this priority come, one slot is kept (docs/design/rate-limit.md, "Who gets the slot"). */
export const HIGH_PRIORITY: Priority = PRIORITY.HINT;
