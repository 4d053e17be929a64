import { BurstGate } from './evidence/burst-gate.ts';
import { FirstContact } from './evidence/first-contact.ts';
import { ForeignUse } from './evidence/foreign-use.ts';
import { Pace } from './evidence/pace.ts';
import { pauseAfter, type RateHeaders } from './evidence/rate-headers.ts';
import { defaultLimit, type RateGroup } from './rate-groups.ts';
import type { Refusal } from './evidence/refusal-cause.ts';
import { RemainingCheck, SUSPECT_REPEATS } from './evidence/remaining-check.ts';
import { RouteLimits } from './evidence/route-limits.ts';
import { earliest } from './slots/moments.ts';
import { SlotLog } from './slots/slot-log.ts';
import { GUARD_MS, HIGH_MEMORY_MS, LESSON_MEMORY_MS, LIMIT_MEMORY_MS, WINDOW_MS } from './slots/timing.ts';

/** Least slots of a group that spreads them over the window while requests of high priority come. */
const SPREAD_FROM = 12;

/** In how much of a window all slots may be sent beside others: a slot that is free must seldom wait for its turn. */
const EVEN_MS = 0.9 * WINDOW_MS;

/** So few that others seem to use of a paced group are how its limiter rounds. */
const ROUNDING = 2;

/** Weight of one answer in the mean response time. */
const RESPONSE_WEIGHT = 0.02;

/** Whether a request may be sent now; if not, when to ask again (undefined: when an answer comes). */
export type Admission = 'go' | { readonly at: number | undefined };

/** What the rate limit needs of a request's answer. Moments are monotonic milliseconds. */
export interface Answered {
  readonly route: string;
  readonly sentAt: number;
  readonly receivedAt: number;
  readonly headers: RateHeaders;
}

/** What an answer taught. All of it is stored; `noted` makes no message. */
export type Finding = 'noted' | 'limit' | 'remaining-broken' | 'lesson-withdrawn';

/** One endpoint group of one key: slots, limit, other users, lessons of 429s. Pure: moments in, decisions out. */
export class GroupModel {
  readonly name: RateGroup;
  readonly log = new SlotLog();
  readonly limits = new RouteLimits();
  readonly foreign = new ForeignUse();
  readonly #share: number;
  readonly #remaining = new RemainingCheck();
  pace = new Pace();
  contact = new FirstContact(false);
  bursts = new BurstGate(0);
  /** A Retry-After stops the group until then. */
  pausedUntil = -Infinity;
  /** `Remaining` is not believed until then. */
  remainingIgnoredUntil = -Infinity;
  /** No limit above the specification's is believed until then. */
  ceilingUntil = -Infinity;
  refusals = 0;
  /** Moving mean of the time from sending to answer; undefined: none came yet. */
  #responseMs: number | undefined;
  #lastSentAt = -Infinity;
  #lastEndedAt = -Infinity;
  #lastHighAt = -Infinity;
  #lastLowAt = -Infinity;
  #lastRefusedAt = -Infinity;
  #foreignBlamedAt = -Infinity;
  /** A lower limit that a 429 has named, and no accepted answer since. */
  #namedOnlyBy429: { readonly limit: number; readonly at: number } | undefined;
  /** Until then a first lesson may still turn out to have been somebody else's use. */
  #lessonOpenUntil = -Infinity;

  constructor(name: RateGroup, share: number) {
    this.name = name;
    this.#share = share;
  }

  /** The service's limit for this group, as far as known. */
  limit(now: number): number {
    const told = this.told(now);
    const isBelieved = this.contact.proven && this.ceilingUntil <= now;
    return isBelieved ? told : Math.min(told, defaultLimit(this.name));
  }

  /** The limit that we share with others, which may be above the one that we believe yet. */
  told(now: number): number {
    return this.limits.smallest(now) ?? defaultLimit(this.name);
  }

  /** How many slots this program allows itself. */
  size(now: number): number {
    const shared = this.shared(now);
    const left = this.#othersSeen(now) ? this.told(now) - this.foreign.headroom(now) : Infinity;
    const leastLeft = this.#remaining.tested ? 1 : SUSPECT_REPEATS;
    return Math.min(shared, Math.max(leastLeft, left), this.pace.lesson(now)?.limit ?? Infinity);
  }

  /** Our share of the limit, whatever others use. */
  shared(now: number): number {
    return this.#shareOf(this.limit(now));
  }

  #shareOf(limit: number): number {
    // The tiny addition mends products such as 0.29 × 100 = 28.999999999999996.
    return Math.max(1, Math.floor(this.#share * limit + 1e-9));
  }

  /** Others use the key, as far as that matters. */
  #othersSeen(now: number): boolean {
    return this.foreign.highest(now) > (this.pace.lesson(now) === undefined ? 0 : ROUNDING);
  }

  used(now: number): number {
    return this.log.used(now, this.pace.guardMs(now));
  }

  /** When the next slot comes free; undefined: only requests under way use any. */
  nextFree(now: number): number | undefined {
    return this.log.nextFree(now, this.pace.guardMs(now));
  }

  /**
   * @param high whether the request is of high priority
   * @param highWaits whether such a request waits: a slot is kept for it
   */
  admission(now: number, high: boolean, highWaits: boolean): Admission {
    if (this.pausedUntil > now) return { at: this.pausedUntil };
    if (this.log.inFlight >= this.contact.mostInFlight) return { at: undefined };
    const size = this.size(now);
    const keepUntil = this.#lastHighAt + WINDOW_MS;
    const kept = !high && size > 1 && (highWaits || keepUntil > now) ? 1 : 0;
    if (this.used(now) >= size - kept) {
      const unkept = kept === 1 && !highWaits ? keepUntil : undefined;
      return { at: earliest(this.nextFree(now), this.foreign.nextChange(now), unkept) };
    }
    const spread = Math.max(high ? now : this.#spread(now, size), this.#even(now, size));
    return spread > now ? { at: earliest(spread, this.nextFree(now)) } : this.#turn(now);
  }

  /** When the next request that is not of high priority may go (docs/design/rate-limit.md, "Who gets the slot"). */
  #spread(now: number, size: number): number {
    if (size < SPREAD_FROM || this.#lastHighAt + HIGH_MEMORY_MS <= now || this.used(now) < size / 2)
      return now;
    return this.#lastLowAt + WINDOW_MS / size;
  }

  /** When the next request may go although bursts are not proven, or others use the key: evenly. */
  #even(now: number, size: number): number {
    const others = this.#othersSeen(now) && this.#remaining.moved;
    if (!others && this.log.inFlight < this.bursts.mostInFlight(now, size, defaultLimit(this.name)))
      return now;
    return this.#lastSentAt + (others ? EVEN_MS / size : this.bursts.spacingMs(size));
  }

  /** When paced: an interval after the last turn or, after a third lesson, after the last answer. */
  #turn(now: number): Admission {
    const interval = this.pacedMs(now);
    if (interval === undefined) return 'go';
    const strict = this.pace.lesson(now)?.fromAnswer === true;
    if (strict && this.log.inFlight > 0) return { at: undefined };
    const turn = strict ? this.#lastEndedAt + interval : this.pace.turnAt;
    return turn > now ? { at: turn } : 'go';
  }

  /** Time between two requests of a paced group; undefined: not paced. */
  pacedMs(now: number): number | undefined {
    return this.pace.intervalMs(now, this.#responseMs ?? 0);
  }

  sent(now: number, high: boolean): void {
    this.log.prune(now);
    this.log.start();
    this.pace.sent(now, this.#responseMs ?? 0);
    this.#lastSentAt = now;
    if (high) this.#lastHighAt = now;
    else this.#lastLowAt = now;
  }

  /** Nothing was written of a request that counted as sent. A paced group still waits its interval after it. */
  unsent(): void {
    this.log.unsent();
  }

  /** No answer came until `at`. */
  unanswered(at: number): void {
    this.log.unanswered(at);
    this.#lastEndedAt = at;
  }

  /** An answer that is not a 429. */
  accepted(answer: Answered): readonly Finding[] {
    const { route, receivedAt: now, headers } = answer;
    const findings: Finding[] = [];
    const before = this.limit(now);
    this.log.answered(now);
    this.#lastEndedAt = now;
    if (this.contact.accepted()) findings.push('noted');
    if (this.bursts.accepted(answer.sentAt, now, this.#leftToUs(headers, now), this.shared(now)))
      findings.push('noted');
    this.#learnResponse(now - answer.sentAt);
    if (headers.limit !== undefined && this.limits.observe(route, headers.limit, now)) findings.push('noted');
    if (headers.limit === this.#namedOnlyBy429?.limit) this.#namedOnlyBy429 = undefined;
    if (this.limit(now) !== before) findings.push('limit');
    if (headers.limit !== undefined && headers.remaining !== undefined) this.#readRemaining(answer, findings);
    return findings;
  }

  /** What an answer's `Remaining` leaves us, at most all our slots; undefined: it can't be believed. */
  #leftToUs({ limit, remaining }: RateHeaders, now: number): number | undefined {
    if (limit === undefined || remaining === undefined || remaining > limit) return undefined;
    if (this.remainingIgnoredUntil > now) return undefined;
    return Math.min(remaining, this.size(now));
  }

  #learnResponse(ms: number): void {
    const before = this.#responseMs ?? ms;
    this.#responseMs = before + (ms - before) * RESPONSE_WEIGHT;
  }

  #readRemaining({ sentAt, receivedAt: now, headers }: Answered, findings: Finding[]): void {
    const { limit = 0, remaining = 0 } = headers;
    const ours = this.log.countedAt(sentAt, now);
    if (remaining > limit || ours === undefined || this.remainingIgnoredUntil > now) return;
    const use = limit - remaining - ours;
    if (
      this.#remaining.isBroken({ at: now, remaining, foreign: use }, (a, b) => this.log.leftWindow(a, b) > 0)
    ) {
      this.remainingIgnoredUntil = now + LESSON_MEMORY_MS;
      this.foreign.clear();
      this.#remaining.clear();
      this.bursts.forgetRemaining();
      findings.push('remaining-broken');
      return;
    }
    // A route may have a higher limit than the group: what others leave of it counts.
    this.foreign.observe(now, use - (limit - Math.min(limit, this.told(now))));
    // Others' use, seen right after the first lesson, explains that 429: no need to go on pacing. What a sliding
    // counter still weighs of our own last window looks like others' use, too.
    if (
      use > this.log.leftWindow(sentAt - WINDOW_MS, sentAt) &&
      this.#lessonOpenUntil > now &&
      !this.#blamedForeign(now)
    ) {
      this.pace.forget();
      this.ceilingUntil = -Infinity;
      this.#lessonOpenUntil = -Infinity;
      this.#foreignBlamedAt = now;
      findings.push('lesson-withdrawn');
    }
  }

  /**
   * A 429: the group stops.
   * @returns what may explain it; undefined: its request was sent before an earlier 429 arrived, and belongs to that
   */
  refused(answer: Answered): Pick<Refusal, 'size' | 'foreign' | 'blamedForeign' | 'namedAgain'> | undefined {
    const { sentAt, receivedAt: now, headers } = answer;
    const named = this.#namedOnlyBy429;
    const facts = {
      size: this.size(now),
      foreign: this.foreign.highest(now),
      blamedForeign: this.#blamedForeign(now),
      namedAgain: named?.limit === headers.limit && (named?.at ?? -Infinity) + LIMIT_MEMORY_MS > now,
    };
    this.log.answered(now);
    this.#lastEndedAt = now;
    this.refusals += 1;
    this.pausedUntil = Math.max(this.pausedUntil, now + pauseAfter(headers) + GUARD_MS);
    this.pace.pauseUntil(this.pausedUntil);
    this.contact.refused();
    this.bursts.refused();
    this.#remaining.refused();
    if (sentAt <= this.#lastRefusedAt) return undefined;
    this.#lastRefusedAt = now;
    return facts;
  }

  /** Others explain the 429: they used at least one slot more than was seen. */
  blameForeign(now: number): void {
    this.#foreignBlamedAt = now;
    this.foreign.observe(now, Math.max(2, this.foreign.highest(now) + 1));
  }

  /** A 429 names a lower limit. */
  lowerLimit(route: string, limit: number, now: number): void {
    this.limits.observe(route, limit, now);
    this.#namedOnlyBy429 = { limit, at: now };
  }

  /** The 429 is not explained: pace, and believe no limit above the specification's. */
  learnPace(now: number): void {
    const granted = defaultLimit(this.name);
    if ((this.limits.smallest(now) ?? 0) > granted) this.ceilingUntil = now + LESSON_MEMORY_MS;
    const first = this.pace.lesson(now) === undefined;
    this.pace.learn(this.#shareOf(Math.min(this.limit(now), granted)), now);
    this.#lessonOpenUntil = first ? this.pausedUntil + WINDOW_MS : -Infinity;
  }

  #blamedForeign(now: number): boolean {
    return this.#foreignBlamedAt + LIMIT_MEMORY_MS > now;
  }
}
