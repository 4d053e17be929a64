import { defaultLimit, type RateGroup } from './rate-groups.ts';
import { pauseAfter, type RateHeaders, RouteLimits } from './rate-headers.ts';
import { GUARD_MS, SlotLog, WINDOW_MS } from './slot-log.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** How long after a request of high priority more of them are expected: events come in bursts. */
const HIGH_MEMORY_MS = 1_200_000;

/** Least slots of a group that spreads them over the window while requests of high priority come. */
const SPREAD_FROM = 12;

/** Accepted answers in a row until more than four requests may be under way, and until they may come faster than evenly. */
export const PROVEN_BY = { few: 10, even: 60 } as const;

/** In which part of a window all slots may be sent beside others, and beyond the requests that may be under way. */
const EVEN = { besideOthers: 0.9, beyondFew: 0.25 } as const;

/**
 * So many requests may be under way unless they are spaced: what is under way when a limit is met is refused. More than
 * `least`: a part of the slots, and of those that are in use beyond `after`.
 */
export const FEW = { least: 4, partOfSlots: 1 / 12, after: 34, partOfMore: 1 / 2 } as const;

/** However much others use, one request goes each 12 s, or a quarter of the limit where that is less. */
const LEAST = { slots: WINDOW_MS / 12_000, part: 1 / 4 } as const;

/** Such a part of a paced group's limit that others seem to use is how its limiter rounds. */
const ROUNDING_PART = 1 / 30;

/** A 429 stops a group for so long at least: a bucket that is just not empty refuses the next two at once. */
const REST_MS = 5_000;

/** What the first 429 leaves free of a paced window, and by how much each further one widens that. */
const FREE_PART = 1 / 30;
const FREE_GROWS = 1.25;
const LEAST_PART = 1 / 12;
const STRICT_FROM = 1 / 4;

/**
 * Even spacing after a 429 (docs/design/rate-limit.md, "After a 429"): for an hour; each further 429 while it lasts, or
 * within a day after it, doubles that, up to a day.
 */
export class Pace {
  until = -Infinity;
  lastsMs = 0;
  /** Requests a window that were allowed when the 429 came, and how many fewer are tried; Infinity: it was explained. */
  from = Infinity;
  free = 0;

  isOn(now: number): boolean {
    return this.until > now;
  }

  /** Whether it is on, or was within a day. */
  isRemembered(now: number): boolean {
    return this.until + DAY_MS > now;
  }

  /** Requests a window that are tried at most; however often they are refused, a twelfth. */
  get limit(): number {
    return Math.max(1, Math.floor(this.from * LEAST_PART), this.from - this.free);
  }

  /** A quarter is left free (of 60 after the eighth 429): one request at a time, spaced from the answer. No latency brings two of them together. */
  get isStrict(): boolean {
    return this.free >= this.from * STRICT_FROM;
  }

  /** @param from requests that were allowed in a window; undefined: something explains the 429, the rate stays */
  learn(from: number | undefined, now: number, firstMs: number = HOUR_MS): void {
    this.lastsMs = this.isRemembered(now) ? Math.min(DAY_MS, 2 * this.lastsMs) : firstMs;
    if (!this.isOn(now)) [this.from, this.free] = [Infinity, 0];
    this.until = now + this.lastsMs;
    if (from === undefined) return;
    this.from = Math.min(this.from, from);
    this.free = Math.ceil(this.free === 0 ? this.from * FREE_PART : this.free * FREE_GROWS);
  }
}

/** What the rate limit needs of a request's answer. Moments are monotonic milliseconds. */
export interface Answered {
  readonly route: string;
  readonly sentAt: number;
  readonly receivedAt: number;
  readonly headers: RateHeaders;
}

/** One endpoint group of one key: slots, limit, other users, pace. Pure: moments in, decisions out. */
export class Group {
  readonly name: RateGroup;
  readonly log = new SlotLog();
  readonly limits: RouteLimits;
  readonly others = new OtherUsers();
  readonly pace = new Pace();
  /** A Retry-After stops the group until then. */
  pausedUntil = -Infinity;
  refusals = 0;
  /** When its routes' limits were last given to be stored. */
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
  shared(now: number): number {
    // The tiny addition mends products such as 0.29 × 100 = 28.999999999999996.
    return Math.max(1, Math.floor(this.#share * this.limit(now) + 1e-9));
  }

  /** How many slots this program allows itself. */
  size(now: number): number {
    const named = this.limits.named(now);
    const least = Math.max(1, Math.floor(Math.min(LEAST.slots, this.limit(now) * LEAST.part)));
    const left = this.othersUse(now) === 0 ? Infinity : Math.max(least, named - this.others.headroom(now));
    return Math.min(this.shared(now), left, this.pace.isOn(now) ? this.pace.limit : Infinity);
  }

  /** Requests of others in a window, as far as that matters. */
  othersUse(now: number): number {
    const use = this.others.highest(now);
    return use <= (this.pace.isOn(now) ? ROUNDING_PART * this.limit(now) : 0) ? 0 : use;
  }

  /**
   * @param high whether the next request is of high priority
   * @param accepted answers of the key in a row
   * @returns when to send a request, or to ask again: not later than `now`, then it may be sent; Infinity: when an answer
   *   has come
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
    // A full walk would take all slots at once, and again when they come free: who comes between waits for a window.
    const isSpread =
      !high && size >= SPREAD_FROM && used >= size / 2 && this.#lastHighAt + HIGH_MEMORY_MS > now;
    const spread = isSpread ? this.#lastLowAt + WINDOW_MS / size : now;
    if (!this.pace.isOn(now) || !this.pace.isStrict)
      return Math.max(spread, this.#lastSentAt + this.#spacing(now, size, accepted, used));
    return this.log.inFlight > 0 ? Infinity : Math.max(spread, this.log.endedAt + WINDOW_MS / size);
  }

  /** Least time between two sendings. */
  #spacing(now: number, size: number, accepted: number, used: number): number {
    const even = WINDOW_MS / size;
    if (this.pace.isOn(now)) return even;
    if (this.othersUse(now) > 0) return EVEN.besideOthers * even;
    // By the group's own use: a limit over all endpoints is met with hardly more than four of each.
    const more = Math.min(size * FEW.partOfSlots, (used - FEW.after) * FEW.partOfMore);
    if (this.log.inFlight < Math.max(FEW.least, more)) return 0;
    return this.pace.isRemembered(now) || accepted < PROVEN_BY.even ? even : EVEN.beyondFew * even;
  }

  sent(now: number, high: boolean): void {
    this.log.start(now);
    this.#lastSentAt = now;
    if (high) this.#lastHighAt = now;
    else this.#lastLowAt = now;
  }

  /** An answer that is not a 429. @returns whether `Remaining` is ignored from now on */
  accepted({ route, sentAt, receivedAt: now, headers }: Answered): boolean {
    const { limit, remaining } = headers;
    this.log.answered(now);
    if (limit === undefined) return false;
    this.limits.observe(route, limit, now, true);
    const ours = this.log.countedAt(sentAt, now);
    if (remaining === undefined || remaining > limit || ours === undefined) return false;
    // A route may have a higher limit than the group: what others leave of it counts.
    const counts = Math.min(limit, this.limits.named(now));
    return this.others.observe(counts, remaining, ours, now);
  }

  /**
   * A 429: the group stops.
   * @returns what explains it; `earlier`: its request was sent before an earlier 429 arrived, and it teaches nothing more;
   *   undefined: nothing does, by our own log it was within the limit
   */
  refused({ route, sentAt, receivedAt: now, headers }: Answered): 'earlier' | 'others' | 'lower' | undefined {
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

  /** Of the limit that the specification grants, our share: what a pace begins from. */
  grantedShare(now: number): number {
    return Math.min(this.shared(now), Math.max(1, Math.floor(this.#share * defaultLimit(this.name) + 1e-9)));
  }
}

/** How long others' use counts after it was seen: a window and the time that an answer may take. */
const SEEN_MS = 65_000;

/** A value that stays for so long, in so many answers, counts nothing: it is ignored for an hour. */
const STUCK = { ms: 2 * WINDOW_MS, answers: 5, ignoredMs: 3_600_000 } as const;

/** By so much our own use must have changed meanwhile, where the value is not 0. */
const OWN_CHANGE = 3;

/**
 * Other users of the key, as `X-RateLimit-Remaining` shows them: (`Limit` − `Remaining`) less every request of ours
 * that the service may have counted. The highest use of the last 65 s counts; it is kept as a falling sequence
 * (sliding-window maximum: O(1) a request).
 */
export class OtherUsers {
  readonly #falling: { readonly at: number; readonly use: number }[] = [];
  /** Since when `Remaining` has one value, and what our own use was meanwhile. */
  #same = { remaining: -1, since: 0, answers: 0, leastOurs: 0, mostOurs: 0 };
  /** Where `Remaining` stayed when it was ignored: until it is above that once, it counts nothing. */
  #stuckAt = -1;
  /** `Remaining` is not believed until then. */
  ignoredUntil = -Infinity;

  /**
   * An accepted answer's `Remaining`, not above its `Limit`.
   * @param ours most requests of ours that the service may have counted when it answered
   * @returns whether it is ignored from now on
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

  /** A 429 says that no slot is left, as a `Remaining` of 0 does: the value counts something. */
  refused(): void {
    this.#same.remaining = -1;
  }

  highest(now: number): number {
    while ((this.#falling[0]?.at ?? Infinity) + SEEN_MS <= now) this.#falling.shift();
    return this.#falling[0]?.use ?? 0;
  }

  /** Slots to leave to them: what they used, and a margin, since their next window is another sample. */
  headroom(now: number): number {
    const use = this.highest(now);
    return use === 0 ? 0 : use + Math.ceil(Math.sqrt(use)) + 1;
  }

  /** When `highest` falls next; Infinity: it is 0. */
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
