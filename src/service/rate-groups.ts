/**
 * The endpoint groups of specification 8.2: each has a limit of its own, per API key, in a sliding window of
 * 60 seconds. Declared once, here.
 */
const GROUPS = [
  { name: 'clay_enrich', limit: 5, endpoints: ['POST /v1/clay/enrich'] },
  { name: 'research_enrich', limit: 10, endpoints: ['POST /v1/research', 'POST /v1/enrich'] },
  {
    name: 'bulk_lists',
    limit: 2,
    endpoints: ['POST /v1/research/bulk', 'POST /v1/lists', 'POST /v1/lists/{id}/analyze'],
  },
  { name: 'sequence', limit: 20, endpoints: ['POST /v1/research/{id}/sequence'] },
  { name: 'other', limit: 60, endpoints: [] },
] as const;

export type RateGroup = (typeof GROUPS)[number]['name'];

export const RATE_GROUPS: readonly RateGroup[] = GROUPS.map((group) => group.name);

const BY_ENDPOINT: ReadonlyMap<string, RateGroup> = new Map(
  GROUPS.flatMap((group) => group.endpoints.map((endpoint): [string, RateGroup] => [endpoint, group.name])),
);

/**
 * The group in which a request is counted.
 * @param method HTTP method, upper case
 * @param route the path with `{id}` for IDs, as the catalogue of collections names routes
 */
export function rateGroup(method: string, route: string): RateGroup {
  return BY_ENDPOINT.get(`${method} ${route}`) ?? 'other';
}

/** The group of all that reads: no endpoint that is read has a limit of its own. */
export const READS: RateGroup = rateGroup('GET', '/v1/research');

/** Requests per window that the specification grants a group, before any header says otherwise. */
export function defaultLimit(name: RateGroup): number {
  const found = GROUPS.find((group) => group.name === name);
  if (found === undefined) throw new RangeError(`no endpoint group named ${JSON.stringify(name)}`);
  return found.limit;
}

/**
 * Who gets the next free slot (docs/design/plan.md, "Priorities"): the greater number; among equals, who asked first.
 * Pings and webhook calls use POLL or higher.
 */
export const PRIORITY = {
  /** A POST operation that a user waits for. */
  SUBMISSION: 50,
  /** A read that an event asked for, within the hints' part of the budget. */
  HINT: 40,
  /** A poll or a refresh that is due, and a check of the webhook's registration. */
  POLL: 30,
  /** A list's items: of ten thousand lists some are always due. */
  LISTS: 20,
  /** A full walk. It takes turns with lists: neither starves the other. */
  FULL: 20,
} as const;

export type Priority = (typeof PRIORITY)[keyof typeof PRIORITY];

/**
 * Requests of this priority or higher have a slot kept for them while such ones come (docs/design/rate-limit.md,
 * "Who gets the slot").
 */
export const HIGH_PRIORITY: Priority = PRIORITY.HINT;
