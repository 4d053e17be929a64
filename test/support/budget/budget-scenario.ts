import { type AnswerMeta, Budget, NotSent } from '../../../src/service/budget.ts';
import type { BudgetEvent } from '../../../src/service/key-budget.ts';
import { PRIORITY, type RateGroup } from '../../../src/service/rate-groups.ts';
import type { Random } from '@research-mirror/runtime/clock';
import type { Limiter, Verdict } from './limiters.ts';
import { MemoryBudgetStore } from './memory-budget-store.ts';
import { exponential, seeded } from '../random.ts';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';

/** How requests and answers travel. */
interface Network {
  /** Time of one direction, ms. */
  readonly latency: (random: Random) => number;
  /** Share of the requests that get no answer; they reach the service at any time up to `lateMs`. */
  readonly lost: number;
  readonly lateMs: number;
  /** When the client gives a request up. */
  readonly timeoutMs: number;
  /** How the service tells its verdict. */
  readonly headers: (verdict: Verdict) => Record<string, string>;
}

/** 20 to 200 ms from sending to answer. */
export const NEAR = { latency: (random: Random) => 10 + random() * 90 };
/** 20 ms to five seconds each way. */
export const SLOW = { latency: (random: Random) => 20 + random() * 4_980, timeoutMs: 30_000 };

/** Tens of milliseconds; one direction in fifty takes up to five seconds. */
function jittery(random: Random): number {
  const usual = 10 + exponential(random, 30);
  return random() < 0.02 ? usual + 200 + random() * 4_800 : usual;
}

/** A service with a rate limiter and a network before it, in virtual time; moments are milliseconds of its clock, in order. */
class EmulatedService {
  readonly #clock: VirtualClock;
  readonly #limiter: Limiter;
  readonly #random: Random;
  readonly #network: Network;
  #answered = 0;
  #responseMs = 0;
  /** When requests were sent, and when some of them arrived to be refused. */
  readonly sentAt: number[] = [];
  readonly refusedAt: number[] = [];
  /** Requests of another user of the key. */
  readonly foreignAt: number[] = [];
  readonly foreignRefusedAt: number[] = [];

  constructor(clock: VirtualClock, limiter: Limiter, random: Random, network: Partial<Network>) {
    this.#clock = clock;
    this.#limiter = limiter;
    this.#random = random;
    const usual = { latency: jittery, lost: 0, lateMs: 30_000, timeoutMs: 10_000, headers: headersOf };
    this.#network = { ...usual, ...network };
  }

  async send(group: RateGroup): Promise<AnswerMeta> {
    const { latency, lost, lateMs, timeoutMs, headers } = this.#network;
    const sentAt = this.#clock.monotonic();
    this.sentAt.push(sentAt);
    if (this.#random() < lost) {
      this.#clock.after(this.#random() * lateMs, () => this.#judge(group));
      await this.#clock.sleep(timeoutMs);
      throw new Error('no answer');
    }
    await this.#clock.sleep(latency(this.#random));
    const verdict = this.#judge(group);
    await this.#clock.sleep(latency(this.#random));
    const receivedAt = this.#clock.monotonic();
    this.#answered += 1;
    this.#responseMs += receivedAt - sentAt;
    return { status: verdict.accepted ? 200 : 429, headers: headers(verdict), receivedAt };
  }

  /** A request of another user of the key. */
  foreign(group: RateGroup): void {
    const now = this.#clock.monotonic();
    this.foreignAt.push(now);
    if (!this.#limiter.ask(now, group).accepted) this.foreignRefusedAt.push(now);
  }

  /** Of the requests that were answered, from sending to the response's headers. */
  get meanResponseMs(): number {
    return this.#responseMs / Math.max(1, this.#answered);
  }

  #judge(group: RateGroup): Verdict {
    const verdict = this.#limiter.ask(this.#clock.monotonic(), group);
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

/** A client under a budget against a rate-limited service, in virtual time. */
export interface Scenario {
  readonly seed: number;
  readonly minutes: number;
  readonly limiter: Limiter;
  readonly network?: Partial<Network>;
  /** Workers that each send one request after another. */
  readonly workers?: number;
  readonly share?: number;
  /** The groups of the requests, one worker after the other; left out: `other`. */
  readonly groups?: readonly RateGroup[];
  /**
   * In place of the kill another process takes the account over, and the first one, which does not know it, goes on for
   * this long.
   */
  readonly goesOnMs?: number;
  /** Time between SIGKILLs; the next process starts half a second later with what the store holds. */
  readonly killEveryMs?: number;
  /** Share of the attempts that write nothing: a refused connection, a claim that says no. */
  readonly unsent?: number;
  /** Share of the pages whose transaction carries freed slots, and share of those that fail. */
  readonly pages?: number;
  readonly failingPages?: number;
  /** Share of the stops that are graceful: what is under way is waited for, unused slots are given back. */
  readonly graceful?: number;
  /** Requests a minute of another user of the key, and how they are spread; default: at random. */
  readonly foreignPerMinute?: number;
  readonly foreignComes?: 'at random' | 'evenly' | 'in bursts';
  /** How long the other user has sent when the first process starts. */
  readonly foreignForMs?: number;
}

export interface Outcome extends Pick<
  EmulatedService,
  'sentAt' | 'refusedAt' | 'foreignAt' | 'foreignRefusedAt' | 'meanResponseMs'
> {
  readonly events: readonly BudgetEvent[];
}

export async function play(scenario: Scenario): Promise<Outcome> {
  const { seed, minutes, killEveryMs, workers = 8, groups = [] } = scenario;
  const random = seeded(seed);
  const clock = new VirtualClock();
  const store = new MemoryBudgetStore(clock);
  const service = new EmulatedService(clock, scenario.limiter, random, scenario.network ?? {});
  const events: BudgetEvent[] = [];

  /** A process that works with the key. */
  const startProcess = async () => {
    const fenced = store.fenced();
    const budget = new Budget({
      keyHash: 'key',
      clock,
      share: scenario.share ?? 1,
      store: fenced.store,
      loaded: await store.load('key'),
      onEvent: (event) => events.push(event),
    });
    const killed = new AbortController();
    const page = async (): Promise<void> => {
      const freed = budget.takeFreed();
      if (freed === undefined || killed.signal.aborted) return;
      if (random() < (scenario.failingPages ?? 0)) budget.putBack(freed);
      else await fenced.store.record(freed);
    };
    /** Requests one after another, each followed by a page's transaction. */
    const work = async (group: RateGroup): Promise<void> => {
      const route = '/v1/lists/{id}';
      const request = { group, route, priority: PRIORITY.POLL, signal: killed.signal };
      while (!killed.signal.aborted) {
        try {
          await budget.run(request, async () => {
            if (scenario.unsent === undefined || random() >= scenario.unsent) return await service.send(group);
            await clock.sleep(random() * 5_000);
            throw new NotSent('a refused connection');
          });
          if (random() < (scenario.pages ?? 1)) await page();
        } catch {
          // No answer, or killed: the next request, if any, tells. A process that was taken over asks again and again.
          if (scenario.goesOnMs !== undefined) await clock.sleep(250);
        }
      }
    };
    const all = Array.from({ length: workers }, (_, worker) => work(groups[worker % groups.length] ?? 'other'));
    const kill = (): void => {
      killed.abort(new Error('killed'));
      budget.close(new Error('killed'));
    };
    const stop = async (): Promise<void> => {
      kill();
      await Promise.all(all);
      await budget.flush();
    };
    return { takeOver: () => fenced.takeOver(), stop, kill };
  };

  if (scenario.foreignPerMinute !== undefined) disturb(clock, service, random, scenario);
  await clock.advance(scenario.foreignForMs ?? 0);
  const end = clock.monotonic() + minutes * 60_000;
  let running = await startProcess();
  while (clock.monotonic() < end) {
    await clock.advance(Math.min(killEveryMs ?? end, end - clock.monotonic()));
    if (killEveryMs === undefined || clock.monotonic() >= end) break;
    if (scenario.goesOnMs !== undefined) {
      running.takeOver();
      clock.after(scenario.goesOnMs, running.kill);
      running = await startProcess();
      continue;
    }
    if (random() < (scenario.graceful ?? 0)) await clock.runUntil(running.stop());
    else running.kill();
    await clock.advance(500);
    running = await startProcess();
  }
  running.kill();
  return Object.assign(service, { events });
}

/** Another user of the key. Bursts are a minute's requests within two seconds. */
function disturb(clock: VirtualClock, service: EmulatedService, random: Random, scenario: Scenario): void {
  const { foreignPerMinute: perMinute = 0, foreignComes = 'at random' } = scenario;
  const waits = {
    'at random': () => exponential(random, 60_000 / perMinute),
    evenly: () => 60_000 / perMinute,
    'in bursts': (count: number) => (count % perMinute === 0 ? 58_000 : 2_000 / perMinute),
  } as const;
  const next = (count: number): void => {
    clock.after(waits[foreignComes](count), () => {
      service.foreign(scenario.groups?.[0] ?? 'other');
      next(count + 1);
    });
  };
  next(0);
}
