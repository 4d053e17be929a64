import { defaultLimit, type RateGroup } from './rate-groups.ts';
import { pauseAfter, type RateHeaders, RouteLimits } from './rate-headers.ts';
import { GUARD_MS, SlotLog, WINDOW_MS } from './slots.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** How long after a request of high priority more are expected (ms): events come in bursts. */
const HIGH_MEMORY_MS = 1_200_000;
/** Fewest slots of a group that spreads them over the window while requests of high priority come. */
const SPREAD_FROM = 12;
/** Accepted answers in a row until more than four requests may be under way, and until uneven spacing is allowed. */
export const TRUST_AFTER = { concurrency: 10, bursts: 60 } as const;
/** Least spacing, as a part of an even one: beside other users, and beyond the requests that need no spacing. */
const SPACING = { besideOthers: 0.9, beyondUnspaced: 0.25 } as const;
/**
 * Requests under way that need no spacing: `least`, or if more, the lesser of a part of the slots and a part of the
 * slots in use above `usedAbove`. Requests under way when a limit is met are refused.
 */
export const UNSPACED = { least: 4, partOfSlots: 1 / 12, usedAbove: 34, partOfUsed: 1 / 2 } as const;
/** Other users never push us below one request each 12 s, or below a quarter of a smaller limit. */
const MINIMUM = { slots: WINDOW_MS / 12_000, part: 1 / 4 } as const;
/** Others' use of a paced group up to this part of its limit is taken for its limiter's rounding. */
const ROUNDING_PART = 1 / 30;
/** Shortest stop after a 429 (ms): a bucket that is just not empty refuses the next two requests at once. */
const REST_MS = 5_000;
/** Part of a paced window that the first 429 leaves free, and the factor by which each further 429 widens it. */
const FREE_PART = 1 / 30;
const FREE_GROWS = 1.25;
const LEAST_PART = 1 / 12;
const STRICT_FROM = 1 / 4;

/**
 * Even spacing for an hour after a 429 (docs/design/rate-limit.md, "After a 429"). A further 429 while it lasts, or
 * within a day after it, doubles the time, up to a day.
 */
export class Pace {
  until = -Infinity;
  lastsMs = 0;
  /** Requests a window that were allowed when the 429 came (Infinity: something explained it), less those left free. */
  from = Infinity;
  free = 0;

  isOn(now: number): boolean {
    return this.until > now;
  }

  /** Whether it is on, or was within a day. */
  isRemembered(now: number): boolean {
    return this.until + DAY_MS > now;
  }

  /** Most requests a window, at least a twelfth of `from`. */
  get limit(): number {
    return Math.max(1, Math.floor(this.from * LEAST_PART), this.from - this.free);
  }

  /** Whether one request goes at a time, spaced from the answer: then no latency brings two of them together. */
  get isStrict(): boolean {
    return this.free >= this.from * STRICT_FROM;
  }

  /** @param from requests that were allowed in a window; undefined if something explains the 429: the rate stays */
  learn(from: number | undefined, now: number, firstMs: number = HOUR_MS): void {
    this.lastsMs = this.isRemembered(now) ? Math.min(DAY_MS, 2 * this.lastsMs) : firstMs;
    if (!this.isOn(now)) [this.from, this.free] = [Infinity, 0];
    this.until = now + this.lastsMs;
    if (from === undefined) return;
    this.from = Math.min(this.from, from);
    this.free = Math.ceil(this.free === 0 ? this.from * FREE_PART : this.free * FREE_GROWS);
  }
}

/** An answer, as far as the rate limit needs it. Moments are monotonic ms. */
export type RateAnswer = Readonly<{ route: string; sentAt: number; receivedAt: number; headers: RateHeaders }>;

/** One endpoint group of one key: slots, limit, other users, pace. Pure: moments in, decisions out. */
export class GroupBudget {
  readonly name: RateGroup;
  readonly log = new SlotLog();
  readonly limits: RouteLimits;
  readonly others = new OtherUsers();
  readonly pace = new Pace();
  /** A 429 stops the group until then. */
  pausedUntil = -Infinity;
  refusals = 0;
  /** When its routes' limits were last handed out to be stored. */
  toldAt = -Infinity;
  readonly #share: number;
  #lastSentAt = -Infinity;
  #lastHighAt = -Infinity;
  #lastLowAt = -Infinity;
  #lastRefusedAt = -Infinity;

  constructor(name: RateGroup, share: number) {
    this.name = name;
    this.#share = share;
    this.limits = new RouteLimits(defaultLimit(name));
  }

  /** The service's limit, as far as it is believed. */
  limit(now: number): number {
    return this.limits.believed(now);
  }

  /** Our share of the limit, whatever others use. */
  shared(now: number, limit: number = this.limit(now)): number {
    // The tiny addition mends products such as 0.29 × 100 = 28.999999999999996.
    return Math.max(1, Math.floor(this.#share * limit + 1e-9));
  }

  /** Our share of the limit, or of the specification's if that is less: a pace begins from it. */
  grantedShare(now: number): number {
    return this.shared(now, Math.min(this.limit(now), defaultLimit(this.name)));
  }

  /** How many slots this program allows itself. */
  size(now: number): number {
    const least = Math.max(1, Math.floor(Math.min(MINIMUM.slots, this.limit(now) * MINIMUM.part)));
    const left = Math.max(least, this.limits.named(now) - this.others.headroom(now));
    return Math.min(
      this.shared(now),
      this.othersUse(now) === 0 ? Infinity : left,
      this.pace.isOn(now) ? this.pace.limit : Infinity,
    );
  }

  /** Requests of others in a window, as far as that matters. */
  othersUse(now: number): number {
    const use = this.others.highest(now);
    return use <= (this.pace.isOn(now) ? ROUNDING_PART * this.limit(now) : 0) ? 0 : use;
  }

  /**
   * @param high whether the next request is of high priority
   * @param accepted answers of the key in a row
   * @returns when to send or to ask again: up to `now`, it may be sent; Infinity, ask after the next answer
   */
  admission(now: number, high: boolean, accepted: number): number {
    if (this.pausedUntil > now) return this.pausedUntil;
    const size = this.size(now);
    const used = this.log.used(now);
    const keptUntil = this.#lastHighAt + WINDOW_MS;
    const isKept = !high && size > 1 && keptUntil > now;
    if (used >= size - (isKept ? 1 : 0)) {
      const unkept = isKept ? keptUntil : Infinity;
      return Math.min(this.log.nextFree(now), this.others.nextChange(now), unkept);
    }
    // A full walk would take all slots at once, and again when they come free: a request between waits for a window.
    const isSpread = !high && size >= SPREAD_FROM && used >= size / 2 && this.#lastHighAt + HIGH_MEMORY_MS > now;
    const spread = isSpread ? this.#lastLowAt + WINDOW_MS / size : now;
    if (!this.pace.isOn(now) || !this.pace.isStrict)
      return Math.max(spread, this.#lastSentAt + this.#spacing(now, size, accepted, used));
    return this.log.inFlight > 0 ? Infinity : Math.max(spread, this.log.endedAt + WINDOW_MS / size);
  }

  /** Least time (ms) between two sendings. */
  #spacing(now: number, size: number, accepted: number, used: number): number {
    const even = WINDOW_MS / size;
    if (this.pace.isOn(now)) return even;
    if (this.othersUse(now) > 0) return SPACING.besideOthers * even;
    // By the group's own use: a limit over all endpoints is met with hardly more than four of each.
    const more = Math.min(size * UNSPACED.partOfSlots, (used - UNSPACED.usedAbove) * UNSPACED.partOfUsed);
    if (this.log.inFlight < Math.max(UNSPACED.least, more)) return 0;
    return this.pace.isRemembered(now) || accepted < TRUST_AFTER.bursts ? even : SPACING.beyondUnspaced * even;
  }

  sent(now: number, high: boolean): void {
    this.log.start(now);
    this.#lastSentAt = now;
    if (high) this.#lastHighAt = now;
    else this.#lastLowAt = now;
  }

  /** Learns of an answer that is not a 429. @returns whether `Remaining` is ignored from now on */
  accepted({ route, sentAt, receivedAt: now, headers }: RateAnswer): boolean {
    const { limit, remaining } = headers;
    this.log.answered(now);
    if (limit === undefined) return false;
    this.limits.observe(route, limit, now, true);
    const ours = this.log.countedAt(sentAt, now);
    if (remaining === undefined || remaining > limit || ours === undefined) return false;
    // A route may have a higher limit than the group: others' use counts against the lower one.
    return this.others.observe(Math.min(limit, this.limits.named(now)), remaining, ours, now);
  }

  /**
   * Learns of a 429: the group stops. @returns its cause; `earlier`: its request was sent before an earlier 429 came,
   * and it teaches nothing more; undefined: unknown, by our own log we were within the limit
   */
  refused({ route, sentAt, receivedAt: now, headers }: RateAnswer): 'earlier' | 'others' | 'lower' | undefined {
    this.log.answered(now);
    this.refusals += 1;
    this.pausedUntil = Math.max(this.pausedUntil, now + Math.max(REST_MS, pauseAfter(headers)) + GUARD_MS);
    this.others.refused();
    if (sentAt <= this.#lastRefusedAt) return 'earlier';
    this.#lastRefusedAt = now;
    const before = this.limit(now);
    if (headers.limit !== undefined) this.limits.observe(route, headers.limit, now, false);
    if (this.othersUse(now) > 0) return 'others';
    return this.limit(now) < before && !this.pace.isOn(now) ? 'lower' : undefined;
  }
}

/** How long others' use counts after it was seen (ms): a window and the time that an answer may take. */
const SEEN_MS = 65_000;
/** `Remaining` counts nothing if it stays the same for this long in this many answers. It is then ignored. */
const STUCK = { ms: 2 * WINDOW_MS, answers: 5, ignoredMs: 3_600_000 } as const;
/** Least change of our own use meanwhile, if the value is not 0. */
const OWN_CHANGE = 3;

/**
 * Other users of the key, as `X-RateLimit-Remaining` shows them: (`Limit` − `Remaining`) less all requests of ours that
 * the service may have counted. Their highest use in 65 s counts (sliding-window maximum: O(1) a request).
 */
export class OtherUsers {
  readonly #falling: { readonly at: number; readonly use: number }[] = [];
  /** Since when `Remaining` has one value, and our own use meanwhile. */
  #same = { remaining: -1, since: 0, answers: 0, leastOurs: 0, mostOurs: 0 };
  /** The value at which `Remaining` was ignored: it counts nothing until it exceeds that once. */
  #stuckAt = -1;
  /** `Remaining` is not believed until then. */
  ignoredUntil = -Infinity;

  /**
   * Learns of an accepted answer's `Remaining`, which is not above its `Limit`.
   * @param ours most requests of ours that the service may have counted when it answered
   * @returns whether `Remaining` is ignored from now on
   */
  observe(limit: number, remaining: number, ours: number, now: number): boolean {
    if (remaining > this.#stuckAt) this.#stuckAt = -1;
    if (this.ignoredUntil > now) return false;
    const use = limit - remaining - ours;
    const stillStuck = use > 0 && this.#stuckAt >= 0;
    if (stillStuck || (this.#isStuck(remaining, ours, now) && this.highest(now) > 0)) {
      this.ignoredUntil = now + STUCK.ignoredMs;
      this.#stuckAt = Math.max(this.#stuckAt, remaining);
      this.#falling.length = 0;
      this.#same.remaining = -1;
      return true;
    }
    if (use <= 0) return false;
    while ((this.#falling.at(-1)?.use ?? Infinity) <= use) this.#falling.pop();
    this.#falling.push({ at: now, use });
    return false;
  }

  /** Learns of a 429. It says that no slot is left, as a `Remaining` of 0 does: so that value counts something. */
  refused(): void {
    this.#same.remaining = -1;
  }

  highest(now: number): number {
    while ((this.#falling[0]?.at ?? Infinity) + SEEN_MS <= now) this.#falling.shift();
    return this.#falling[0]?.use ?? 0;
  }

  /** Slots to leave to them: their use, and a margin, since their next window is another sample. */
  headroom(now: number): number {
    const use = this.highest(now);
    return use === 0 ? 0 : use + Math.ceil(Math.sqrt(use)) + 1;
  }

  /** When `highest` falls next; Infinity if it is 0. */
  nextChange(now: number): number {
    return this.highest(now) === 0 ? Infinity : (this.#falling[0]?.at ?? Infinity) + SEEN_MS;
  }

  #isStuck(remaining: number, ours: number, now: number): boolean {
    if (this.#same.remaining !== remaining)
      this.#same = { remaining, since: now, answers: 0, leastOurs: ours, mostOurs: ours };
    const same = this.#same;
    same.answers += 1;
    same.leastOurs = Math.min(same.leastOurs, ours);
    same.mostOurs = Math.max(same.mostOurs, ours);
    const ownChanged = same.mostOurs - same.leastOurs >= OWN_CHANGE;
    return same.answers >= STUCK.answers && now - same.since >= STUCK.ms && (remaining === 0 || ownChanged);
  }
}
