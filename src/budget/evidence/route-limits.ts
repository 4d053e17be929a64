import { LIMIT_MEMORY_MS, WINDOW_MS } from '../slots/timing.ts';

interface RouteLimit {
  limit: number;
  seenAt: number;
  /** `seenAt` as last stored. */
  notedAt: number;
  /** Every answer since `since` named a higher limit, `least` or more. */
  rising: { least: number; readonly since: number } | undefined;
}

/**
 * `X-RateLimit-Limit` by route (docs/design/rate-limit.md, "Headers"). Some services count per endpoint, so the
 * group's limit is the smallest of its routes seen in the last hour. A route's limit falls at once, and rises only
 * when a full window's answers agree.
 */
export class RouteLimits {
  readonly #routes = new Map<string, RouteLimit>();

  /** @returns whether to store it: another limit, or the stored sighting is old */
  observe(route: string, limit: number, now: number): boolean {
    const known = this.#routes.get(route);
    if (known === undefined || known.seenAt + LIMIT_MEMORY_MS <= now) {
      this.#routes.set(route, { limit, seenAt: now, notedAt: now, rising: undefined });
      return true;
    }
    const before = known.limit;
    known.seenAt = now;
    if (limit <= before) {
      known.limit = limit;
      known.rising = undefined;
    } else {
      known.rising ??= { least: limit, since: now };
      known.rising.least = Math.min(known.rising.least, limit);
      if (now - known.rising.since >= WINDOW_MS) {
        known.limit = known.rising.least;
        known.rising = undefined;
      }
    }
    if (known.limit === before && now - known.notedAt < LIMIT_MEMORY_MS / 2) return false;
    known.notedAt = now;
    return true;
  }

  of(route: string, now: number): number | undefined {
    const known = this.#routes.get(route);
    return known !== undefined && known.seenAt + LIMIT_MEMORY_MS > now ? known.limit : undefined;
  }

  /** The smallest limit of the routes seen in the last hour; undefined: none was seen. */
  smallest(now: number): number | undefined {
    let least: number | undefined;
    for (const { limit, seenAt } of this.#routes.values()) {
      if (seenAt + LIMIT_MEMORY_MS > now && (least === undefined || limit < least)) least = limit;
    }
    return least;
  }

  /** Routes seen in the last hour, for the store. */
  entries(
    now: number,
  ): readonly { readonly route: string; readonly limit: number; readonly seenAt: number }[] {
    return [...this.#routes]
      .filter(([, each]) => each.seenAt + LIMIT_MEMORY_MS > now)
      .map(([route, { limit, seenAt }]) => ({ route, limit, seenAt }));
  }

  /** What an earlier process saw. */
  inherit(route: string, limit: number, seenAt: number): void {
    this.#routes.set(route, { limit, seenAt, notedAt: seenAt, rising: undefined });
  }
}
