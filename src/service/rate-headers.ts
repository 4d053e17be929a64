/** Header fields by lower-case name, as undici and Node give them. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What one answer says about its rate limit. Undefined: missing, or nonsense. */
export interface RateHeaders {
  /** Requests per window, 1 or more. */
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  /** Milliseconds until the window resets, by the server's clock (`Date`). A hint: clocks and meanings differ. */
  readonly resetInMs: number | undefined;
  /** `Retry-After` in milliseconds, without bounds. */
  readonly retryAfterMs: number | undefined;
}

/** No Retry-After stops a group for longer. */
export const LONGEST_PAUSE_MS = 900_000;

/** Shortest pause after a 429, and the pause if it names none (docs/design/rate-limit.md, "After a 429"). */
const PAUSE = { leastMs: 1_000, defaultMs: 60_000 } as const;

/** How long a route's Limit counts after it was last seen. */
const LIMIT_MEMORY_MS = 3_600_000;

/** Accepted answers in a row until a higher limit is believed. */
const BELIEVED_AFTER = 10;

/** A Reset further away than this was misread: it is not the end of a window. */
const FARTHEST_RESET_MS = 900_000;

/**
 * Reads the headers of specification 8.2.
 * @param wallNow this machine's wall clock in ms, used only where the answer has no `Date`
 */
export function readRateHeaders(headers: AnswerHeaders, wallNow: number): RateHeaders {
  const date = momentOf(field(headers, 'date')) ?? wallNow;
  const limit = countOf(field(headers, 'x-ratelimit-limit'));
  return {
    limit: limit === 0 ? undefined : limit,
    remaining: countOf(field(headers, 'x-ratelimit-remaining')),
    resetInMs: resetIn(field(headers, 'x-ratelimit-reset'), date),
    retryAfterMs: retryAfter(field(headers, 'retry-after'), date),
  };
}

/** How long a 429 stops its group, milliseconds. */
export function pauseAfter(headers: RateHeaders): number {
  const asked = headers.retryAfterMs ?? Math.min(headers.resetInMs ?? PAUSE.defaultMs, PAUSE.defaultMs);
  return Math.min(LONGEST_PAUSE_MS, Math.max(PAUSE.leastMs, asked));
}

function field(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name];
  const first = typeof value === 'string' ? value : value?.[0];
  return first === undefined || first.trim() === '' ? undefined : first.trim();
}

/** A count such as `60`, also with the parameters of the IETF draft (`60;w=60`). */
function countOf(text: string | undefined): number | undefined {
  const digits = /^(\d{1,12})\s*(?:[,;]|$)/.exec(text ?? '')?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Seconds, rounded up to whole ones since servers tend to round down; or a date. */
function retryAfter(text: string | undefined, date: number): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text)) * 1_000;
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

/** An HTTP or ISO 8601 date; `Date.parse` alone also accepts fragments such as `-5`. */
function momentOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^([A-Za-z]{3},? |\d{4}-\d{2}-\d{2}T)/.test(text)) return undefined;
  const moment = Date.parse(text);
  return Number.isNaN(moment) ? undefined : moment;
}

/**
 * `X-RateLimit-Limit`, kept per route: some services count each endpoint alone, so the smallest of the last hour is
 * the group's. It is believed at once where it falls, and after ten accepted answers where it rises.
 */
export class RouteLimits {
  readonly #granted: number;
  readonly #routes = new Map<string, { readonly limit: number; readonly seenAt: number }>();
  #believed: number;
  /** Accepted answers in a row beside which a higher limit was named, and the least of those limits. */
  #higher = { answers: 0, least: Infinity };

  /** @param granted what the specification grants the group, until a header says otherwise */
  constructor(granted: number) {
    this.#granted = granted;
    this.#believed = granted;
  }

  /** What the answers name, believed or not: others may be using it. */
  named(now: number): number {
    const fresh = this.entries(now).map((each) => each.limit);
    return fresh.length === 0 ? this.#granted : Math.min(...fresh);
  }

  believed(now: number): number {
    return Math.min(this.#believed, this.named(now));
  }

  /** @param accepted false: of a 429, which only ever lowers the limit */
  observe(route: string, limit: number, now: number, accepted: boolean): void {
    this.#routes.set(route, { limit, seenAt: now });
    const named = this.named(now);
    if (named <= this.#believed || !accepted) {
      this.#believed = Math.min(this.#believed, named);
      this.#higher = { answers: 0, least: Infinity };
      return;
    }
    this.#higher.answers += 1;
    this.#higher.least = Math.min(this.#higher.least, named);
    if (this.#higher.answers < BELIEVED_AFTER) return;
    this.#believed = this.#higher.least;
    this.#higher = { answers: 0, least: Infinity };
  }

  /** Routes seen in the last hour, for the store. */
  entries(now: number): { readonly route: string; readonly limit: number; readonly seenAt: number }[] {
    for (const [route, { seenAt }] of this.#routes)
      if (seenAt + LIMIT_MEMORY_MS <= now) this.#routes.delete(route);
    return [...this.#routes].map(([route, seen]) => ({ route, ...seen }));
  }

  /** What an earlier process saw. */
  inherit(route: string, limit: number, seenAt: number): void {
    this.#routes.set(route, { limit, seenAt });
  }

  /** What an earlier process believed. Without a route that was seen lately it is what the specification grants. */
  believe(limit: number): void {
    if (Number.isInteger(limit) && limit > 0) this.#believed = limit;
  }
}
