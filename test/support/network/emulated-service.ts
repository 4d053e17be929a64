import type { AnswerMeta } from '../../../src/budget/budget.ts';
import type { Random } from '@research-mirror/runtime/clock';
import type { Limiter, Verdict } from '../budget/limiters.ts';
import { exponential } from '../random.ts';
import type { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';

/** How requests and answers travel. */
export interface Network {
  /** Time of one direction, ms. */
  readonly latency: (random: Random) => number;
  /** Part of the requests that get no answer; they reach the service at any time up to `lateMs`. */
  readonly lost: number;
  readonly lateMs: number;
  /** When the client gives a request up. */
  readonly timeoutMs: number;
  /** How the service tells its verdict. */
  readonly headers: (verdict: Verdict) => Record<string, string>;
}

/** Tens of milliseconds; one direction in fifty takes up to five seconds. */
function jittery(random: Random): number {
  const usual = 10 + exponential(random, 30);
  return random() < 0.02 ? usual + 200 + random() * 4_800 : usual;
}

/** A service with a rate limiter and a network before it, in virtual time; moments are milliseconds of its clock, in order. */
export class EmulatedService {
  readonly #clock: VirtualClock;
  readonly #limiter: Limiter;
  readonly #random: Random;
  readonly #network: Network;
  #answered = 0;
  #responseMs = 0;
  /** When requests were sent, and when some of them arrived to be refused. */
  readonly sentAt: number[] = [];
  readonly refusedAt: number[] = [];
  /** Somebody else's, with the same key. */
  readonly foreignAt: number[] = [];
  readonly foreignRefusedAt: number[] = [];

  constructor(clock: VirtualClock, limiter: Limiter, random: Random, network: Partial<Network>) {
    this.#clock = clock;
    this.#limiter = limiter;
    this.#random = random;
    const usual = { latency: jittery, lost: 0, lateMs: 30_000, timeoutMs: 10_000, headers: headersOf };
    this.#network = { ...usual, ...network };
  }

  async send(): Promise<AnswerMeta> {
    const { latency, lost, lateMs, timeoutMs, headers } = this.#network;
    const sentAt = this.#clock.monotonic();
    this.sentAt.push(sentAt);
    if (this.#random() < lost) {
      this.#clock.after(this.#random() * lateMs, () => this.#judge());
      await this.#clock.sleep(timeoutMs);
      throw new Error('no answer');
    }
    await this.#clock.sleep(latency(this.#random));
    const verdict = this.#judge();
    await this.#clock.sleep(latency(this.#random));
    const receivedAt = this.#clock.monotonic();
    this.#answered += 1;
    this.#responseMs += receivedAt - sentAt;
    return {
      status: verdict.accepted ? 200 : 429,
      headers: headers(verdict),
      receivedAt,
    };
  }

  /** A request of somebody else with the same key. */
  foreign(): void {
    const now = this.#clock.monotonic();
    this.foreignAt.push(now);
    if (!this.#limiter.ask(now).accepted) this.foreignRefusedAt.push(now);
  }

  /** Of the requests that were answered, from sending to the response's headers. */
  get meanResponseMs(): number {
    return this.#responseMs / Math.max(1, this.#answered);
  }

  #judge(): Verdict {
    const verdict = this.#limiter.ask(this.#clock.monotonic());
    if (!verdict.accepted) this.refusedAt.push(this.#clock.monotonic());
    return verdict;
  }
}

function headersOf({ accepted, limit, remaining, retryInMs }: Verdict): Record<string, string> {
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    ...(accepted ? {} : { 'retry-after': String(Math.ceil(retryInMs / 1_000)) }),
  };
}
