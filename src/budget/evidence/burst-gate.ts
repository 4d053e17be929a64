import { WINDOW_MS } from '../slots/timing.ts';

/** A `Remaining` says nothing of what others or the service did later than this. */
const FRESH_MS = 10_000;
/** Answers overtake each other: the least `Remaining` of those that came so close together counts. */
const TOGETHER_MS = 1_000;
/** A burst: as many requests as the group has slots, within half a window. */
const BURST_MS = WINDOW_MS / 2;
/** The second of two bursts that prove bursts must begin this soon after the first one: as its slots come free. */
const AGAIN_MS = WINDOW_MS + 15_000;
/**
 * In how much of a window the slots may be sent whatever is under way, at first, and by how much that shrinks with each
 * as many requests accepted in a row. It must be faster than slots come free: else they wait for their turns, and waits
 * add to their way round.
 */
const SPACED = { firstMs: 0.6 * WINDOW_MS, faster: 0.7, leastMs: 0.05 * WINDOW_MS } as const;
/** A proof for larger groups would take too many requests: they go by what was accepted. */
const MOST_PROVEN = 500;
/** Of a limit above the specification's, this part of the requests accepted in a row may be under way. */
const ACCEPTED_PART = 1 / 2;

/**
 * How many requests may be under way, unless they are spaced (docs/design/rate-limit.md, "Bursts"). Token buckets and
 * sliding counters refuse bursts that a sliding log accepts; whatever is under way when they do is refused, too. So
 * until two bursts in a row were accepted, no more is under way than the service just said it would accept, and
 * where it says nothing, one. Spaced ones are never held up: in the long run it costs nothing. What was proven holds for
 * as many slots, and fewer.
 */
export class BurstGate {
  /** Slots of the group whose bursts were proven; 0: none were. */
  #provenSize: number;
  /** What the last answers left, in order of arrival. */
  #left: { readonly at: number; readonly remaining: number }[] = [];
  /** Sendings of the last accepted requests, two bursts at most. */
  #sent: number[] = [];

  #inARow = 0;

  /** @param provenSize of an earlier process's group, whose bursts were accepted; 0: none were */
  constructor(provenSize: number) {
    this.#provenSize = provenSize;
  }

  get provenSize(): number {
    return this.#provenSize;
  }

  /**
   * Most requests under way of which one is sent sooner than `spacingMs` after the last one.
   * @param size slots of the group
   * @param granted the specification's limit: where the headers allow more, and are wrong, all that is under way is
   *   refused
   */
  mostInFlight(now: number, size: number, granted: number): number {
    if (size <= this.#provenSize) return Infinity;
    const told = (this.#left.at(-1)?.at ?? -Infinity) + FRESH_MS > now;
    if (!told && size <= MOST_PROVEN) return 1;
    // Half of it: what is under way may be in it or not.
    const left = told ? Math.min(...this.#left.map((each) => each.remaining)) / 2 : Infinity;
    const most = size > granted ? Math.min(left, this.#inARow * ACCEPTED_PART) : left;
    return Math.max(1, Math.floor(most));
  }

  /** Least time between two sendings of which the second goes beyond `mostInFlight`. */
  spacingMs(size: number): number {
    const shrunk = SPACED.firstMs * SPACED.faster ** Math.floor(this.#inARow / size);
    return Math.max(SPACED.leastMs, shrunk) / size;
  }

  /**
   * @param remaining what the answer left us; undefined: it said nothing, or nonsense
   * @param size slots of the group
   * @returns whether this answer proved bursts
   */
  accepted(sentAt: number, at: number, remaining: number | undefined, size: number): boolean {
    if (remaining !== undefined) {
      this.#left = this.#left.filter((each) => each.at + TOGETHER_MS > at);
      this.#left.push({ at, remaining });
    }
    this.#inARow += 1;
    if (size <= this.#provenSize || size > MOST_PROVEN) return false;
    this.#sent.push(sentAt);
    if (this.#sent.length > 2 * size) this.#sent.splice(0, this.#sent.length - 2 * size);
    if (this.#sent.length < 2 * size || size === 1 || !this.#areBursts(size)) return false;
    this.#provenSize = size;
    this.#sent = [];
    return true;
  }

  refused(): void {
    this.#provenSize = 0;
    this.#inARow = 0;
    this.#sent = [];
    this.forgetRemaining();
  }

  /** It turned out to count nothing. */
  forgetRemaining(): void {
    this.#left = [];
  }

  #areBursts(size: number): boolean {
    const sent = this.#sent.toSorted((a, b) => a - b);
    const [first = 0, firstEnd = 0, second = 0, end = 0] = [sent[0], sent[size - 1], sent[size], sent.at(-1)];
    return firstEnd - first <= BURST_MS && end - second <= BURST_MS && second - first <= AGAIN_MS;
  }
}
