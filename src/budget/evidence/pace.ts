import { GUARD_MS, LESSON_MEMORY_MS, WIDEST_GUARD_MS, WINDOW_MS } from '../slots/timing.ts';

/**
 * Guard of a slot after the first lesson, and by how much each further one widens it and lowers the rate. The interval
 * has the guard of all slots: it leaves a slot free anyhow.
 */
const STEP = { guardMs: 1_000, widen: 2, little: 0.95, lower: 0.9 } as const;

/** One slot of so many stays free: a request that is late joins the next window's. */
const SLACK = 30;

/** The lesson of a 429 that nothing explains: remembered for key and group. */
export interface PaceLesson {
  /** Requests per window that are tried. */
  readonly limit: number;
  readonly guardMs: number;
  /** Spaced from each answer, not from each sending: no latency can bring two requests closer together. */
  readonly fromAnswer: boolean;
  readonly until: number;
}

/**
 * Even spacing (docs/design/rate-limit.md, "Pacing"), for limiters that refuse what a sliding log allows: token
 * buckets with a small burst, sliding counters that weigh the last window. A second lesson lowers the rate by a
 * twentieth; from the third one on the spacing counts from the answers: there is no burst at all. Each further one
 * lowers the rate by a tenth: the real limit is lower than the service says.
 */
export class Pace {
  #lesson: PaceLesson | undefined;
  /** Moment of the next turn, where spacing counts from sendings. */
  #turnAt = -Infinity;

  constructor(lesson?: PaceLesson) {
    this.#lesson = lesson;
  }

  lesson(now: number): PaceLesson | undefined {
    return this.#lesson !== undefined && this.#lesson.until > now ? this.#lesson : undefined;
  }

  /** Begins to pace, or paces slower. @param size requests per window until now */
  learn(size: number, now: number): PaceLesson {
    const before = this.lesson(now);
    this.#lesson =
      before === undefined
        ? { limit: size, guardMs: STEP.guardMs, fromAnswer: false, until: now + LESSON_MEMORY_MS }
        : {
            limit: Math.max(1, Math.floor(before.limit * (before.fromAnswer ? STEP.lower : STEP.little))),
            fromAnswer: before.guardMs > STEP.guardMs,
            guardMs: Math.min(WIDEST_GUARD_MS, before.guardMs * STEP.widen),
            until: now + LESSON_MEMORY_MS,
          };
    return this.#lesson;
  }

  forget(): void {
    this.#lesson = undefined;
  }

  guardMs(now: number): number {
    return this.lesson(now)?.guardMs ?? GUARD_MS;
  }

  /**
   * Least time between the sendings of two requests; undefined: not paced.
   * @param responseMs mean time from sending to answer: a slot is not used again sooner, in any schedule
   */
  intervalMs(now: number, responseMs: number): number | undefined {
    const lesson = this.lesson(now);
    if (lesson === undefined) return undefined;
    const { limit } = lesson;
    const slots = (WINDOW_MS + GUARD_MS + responseMs) / Math.max(1, limit - 1);
    return Math.max(slots, WINDOW_MS / Math.max(1, limit - Math.ceil(limit / SLACK)));
  }

  /**
   * When the next request may be sent, as far as sendings tell. A turn comes an interval after the last *turn*: who had no
   * free slot at his turn makes up for it, by one interval at most. Else every wait for a slot lowered the rate for good.
   */
  get turnAt(): number {
    return this.#turnAt;
  }

  /** A pause is no wait for a slot. */
  pauseUntil(at: number): void {
    this.#turnAt = Math.max(this.#turnAt, at);
  }

  /** @param responseMs as for `intervalMs` */
  sent(now: number, responseMs: number): void {
    const turn = this.#turnAt === -Infinity ? now : this.#turnAt;
    this.#turnAt = Math.max(now, turn + (this.intervalMs(now, responseMs) ?? 0));
  }
}
