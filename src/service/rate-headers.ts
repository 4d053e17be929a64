/** Header fields by lower-case name, as undici and Node give them. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What one answer says about its rate limit. A member that is missing or malformed is undefined. */
export type RateHeaders = ReturnType<typeof readRateHeaders>;

/** Longest pause after a 429, ms. */
export const LONGEST_PAUSE_MS = 900_000;
/** Shortest pause after a 429, and the pause if it names none, ms (docs/design/rate-limit.md, "After a 429"). */
const SHORTEST_PAUSE_MS = 1_000;
const DEFAULT_PAUSE_MS = 60_000;
/** How long a route's limit counts after it was last seen, ms. */
const LIMIT_MEMORY_MS = 3_600_000;
/** Accepted answers in a row until a higher limit is believed. */
const BELIEVED_AFTER = 10;
/** A `Reset` further away than this (ms) was misread: it is not the end of a window. */
const FARTHEST_RESET_MS = 900_000;

/** Reads the headers of specification 8.2, by the service's clock (`Date`), else by the wall clock `wallNow` (ms). */
export function readRateHeaders(headers: AnswerHeaders, wallNow: number) {
  const date = momentOf(headerField(headers, 'date')) ?? wallNow;
  return {
    /** Requests per window, 1 or more. */
    limit: countOf(headerField(headers, 'x-ratelimit-limit')) || undefined,
    remaining: countOf(headerField(headers, 'x-ratelimit-remaining')),
    /** Milliseconds until the window resets. */
    resetInMs: resetIn(headerField(headers, 'x-ratelimit-reset'), date),
    /** `Retry-After` in ms, without bounds. */
    retryAfterMs: retryAfter(headerField(headers, 'retry-after'), date),
  };
}

/** How long a 429 stops its group, ms. */
export function pauseAfter({ retryAfterMs, resetInMs = DEFAULT_PAUSE_MS }: RateHeaders): number {
  const pause = retryAfterMs ?? Math.min(resetInMs, DEFAULT_PAUSE_MS);
  return Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, pause));
}

/** A field's first value without white space around it; undefined if it is missing or blank. */
export function headerField(headers: AnswerHeaders, name: string): string | undefined {
  return [headers[name]].flat()[0]?.trim() || undefined;
}

/** A count such as `60`, also with the parameters of the IETF draft (`60;w=60`). */
function countOf(text = ''): number | undefined {
  const digits = /^(\d{1,12})\s*(?:[,;]|$)/.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Seconds, rounded up to whole ones since servers tend to round down; or a date. */
function retryAfter(text: string | undefined, date: number): number | undefined {
  if (text !== undefined && /^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text)) * 1_000;
  const moment = momentOf(text);
  return moment === undefined ? undefined : moment - date;
}

/** Epoch seconds, epoch milliseconds or seconds from now, recognised by their size; or a date. */
function resetIn(text: string | undefined, date: number): number | undefined {
  if (text === undefined) return undefined;
  const number = /^\d{1,15}(\.\d+)?$/.test(text) ? Number(text) : undefined;
  const moment = number === undefined ? momentOf(text) : number * (number > 1e11 ? 1 : 1_000);
  if (moment === undefined) return undefined;
  const delta = number !== undefined && number < 1e8 ? number * 1_000 : moment - date;
  return delta >= 0 && delta <= FARTHEST_RESET_MS ? delta : undefined;
}

/** An HTTP or ISO 8601 date. `Date.parse` alone also accepts fragments such as `-5`. */
function momentOf(text = ''): number | undefined {
  if (!/^([A-Za-z]{3},? |\d{4}-\d{2}-\d{2}T)/.test(text)) return undefined;
  const moment = Date.parse(text);
  return Number.isNaN(moment) ? undefined : moment;
}

/**
 * `X-RateLimit-Limit`, kept per route: some services count each endpoint alone, so the smallest limit of the last
 * hour is the group's. A lower limit is believed at once, a higher one after ten accepted answers.
 */
export class RouteLimits {
  readonly #granted: number;
  readonly #routes = new Map<string, { readonly limit: number; readonly seenAt: number }>();
  #believed: number;
  /** Accepted answers in a row that named a higher limit, and the least of those limits. */
  #higher = { answers: 0, least: Infinity };

  /** @param granted the group's limit in the specification, used until a header names another */
  constructor(granted: number) {
    this.#granted = granted;
    this.#believed = granted;
  }

  /** The limit in the answers, believed or not: others may be using it. */
  named(now: number): number {
    const fresh = this.entries(now).map((each) => each.limit);
    return fresh.length === 0 ? this.#granted : Math.min(...fresh);
  }

  believed(now: number): number {
    return Math.min(this.#believed, this.named(now));
  }

  /** @param accepted false for a 429, which only ever lowers the limit */
  observe(route: string, limit: number, now: number, accepted: boolean): void {
    this.#routes.set(route, { limit, seenAt: now });
    const named = this.named(now);
    const higher = this.#higher;
    this.#higher = { answers: 0, least: Infinity };
    if (named <= this.#believed || !accepted) {
      this.#believed = Math.min(this.#believed, named);
      return;
    }
    const [answers, least] = [higher.answers + 1, Math.min(higher.least, named)];
    if (answers < BELIEVED_AFTER) this.#higher = { answers, least };
    else this.#believed = least;
  }

  /** Routes seen in the last hour, for the store. */
  entries(now: number): { readonly route: string; readonly limit: number; readonly seenAt: number }[] {
    for (const [route, { seenAt }] of this.#routes) if (seenAt + LIMIT_MEMORY_MS <= now) this.#routes.delete(route);
    return [...this.#routes].map(([route, seen]) => ({ route, ...seen }));
  }

  /** Takes over what an earlier process saw. */
  inherit(route: string, limit: number, seenAt: number): void {
    this.#routes.set(route, { limit, seenAt });
  }

  /** Takes over what an earlier process believed. Without a recently seen route the granted limit counts. */
  believe(limit: number): void {
    if (Number.isInteger(limit) && limit > 0) this.#believed = limit;
  }
}
