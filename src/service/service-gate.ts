import type { ClassifiedError } from '@research-mirror/runtime/errors';
import type { Clock, Random } from '@research-mirror/runtime/clock';
import { untilAborted } from '@research-mirror/runtime/service';
import { RateLimited, ServiceDown } from '../model/errors.ts';

/**
 * Requests in a row without a good answer until the service counts as down, and the fewest routes among them: one may
 * be an endpoint's own trouble. The ping's route alone suffices: nothing else is sent while it fails.
 */
const FAILURES = 8;
const ROUTES = 2;
export const PING_ROUTE = '/v1/ping';
/** Waits before the first probe and the last ones, ms; the wait doubles with each. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 20_000;

/** The gate has closed, or is open again. */
export type GateNews =
  | { readonly state: 'closed'; readonly reason: string }
  | { readonly state: 'open'; readonly afterMs: number };

interface Outage {
  readonly since: number;
  reason: string;
  waitMs: number;
  /** When the next probe may go out, by the monotonic clock. */
  dueAt: number;
  probing: boolean;
  /** Its abort makes waiting requests look again, or fail if the reason is ServiceDown. */
  turn: AbortController;
}

/**
 * While the service is down, one request at a time is the probe; all others wait for its outcome, and fail with it.
 * Without that each poll of each account would spend its attempts and slots. One gate for all keys of a service.
 */
export class ServiceGate {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #tell: (news: GateNews) => void;
  #failures = 0;
  readonly #routes = new Set<string>();
  #outage: Outage | undefined;

  constructor(clock: Clock, random: Random, tell: (news: GateNews) => void) {
    this.#clock = clock;
    this.#random = random;
    this.#tell = tell;
  }

  /**
   * Waits until the request may go out, as the probe or after it. @param mayProbe false: it must not be risked
   * @throws ServiceDown if the probe failed; the signal's reason
   */
  async enter(route: string, mayProbe: boolean, signal: AbortSignal) {
    for (;;) {
      signal.throwIfAborted();
      const outage = this.#outage;
      if (outage === undefined) return this.#passage(route);
      const next = mayProbe && !outage.probing ? outage.dueAt - this.#clock.monotonic() : Infinity;
      if (next <= 0) {
        outage.probing = true;
        return this.#passage(route, outage);
      }
      const turn = outage.turn.signal;
      const ends = AbortSignal.any([signal, turn]);
      await (next === Infinity ? untilAborted(ends) : this.#clock.sleep(next, ends).catch(() => {}));
      if (turn.reason instanceof ServiceDown) throw turn.reason;
    }
  }

  /** Why the gate is closed; undefined: it is open. */
  down(): ServiceDown | undefined {
    return this.#outage && new ServiceDown(this.#outage.reason);
  }

  /** @param probeOf the closure that a probe tries to end */
  #passage(route: string, probeOf?: Outage) {
    return {
      /** Call it when the slot is there: false if the gate has closed meanwhile. */
      mayGo: (): boolean => this.#outage === probeOf || this.#outage === undefined,
      /** Call it with the outcome; undefined: a good answer. */
      ended: (error: ClassifiedError | undefined): void => {
        if (error === undefined || isAnswer(error)) this.#answered();
        else if (this.#outage === undefined) this.#unanswered(route, error);
        else if (this.#outage === probeOf) this.#probeFailed(probeOf, error);
      },
      /** Call it last, whether the request went out or not: after a probe without an outcome another request tries. */
      left: (): void => {
        if (probeOf?.probing === true) nextTurn(probeOf);
      },
    };
  }

  #unanswered(route: string, error: ClassifiedError): void {
    this.#failures += 1;
    this.#routes.add(route);
    const isOneEndpoint = this.#routes.size < ROUTES && route !== PING_ROUTE;
    if (this.#failures < FAILURES || isOneEndpoint) return;
    const since = this.#clock.monotonic();
    const reason = reasonOf(error);
    const dueAt = since + FIRST_WAIT_MS * (0.5 + this.#random() / 2);
    const turn = new AbortController();
    this.#outage = { since, reason, waitMs: FIRST_WAIT_MS, dueAt, probing: false, turn };
    this.#tell({ state: 'closed', reason });
  }

  #probeFailed(outage: Outage, error: ClassifiedError): void {
    outage.reason = reasonOf(error);
    outage.waitMs = Math.min(LONGEST_WAIT_MS, outage.waitMs * 2);
    outage.dueAt = this.#clock.monotonic() + outage.waitMs * (0.5 + this.#random() / 2);
    nextTurn(outage, new ServiceDown(outage.reason));
  }

  #answered(): void {
    this.#failures = 0;
    this.#routes.clear();
    const outage = this.#outage;
    if (outage === undefined) return;
    this.#outage = undefined;
    this.#tell({ state: 'open', afterMs: this.#clock.monotonic() - outage.since });
    nextTurn(outage);
  }
}

/** Whether the error is the service's own answer to the request: then the service is there. */
export function isAnswer(error: ClassifiedError): boolean {
  return error.remedy !== 'retry' || error instanceof RateLimited;
}

function nextTurn(outage: Outage, down?: ServiceDown): void {
  const { turn } = outage;
  outage.probing = false;
  outage.turn = new AbortController();
  turn.abort(down);
}

/** The error without its request: the same for all requests. */
function reasonOf({ message }: ClassifiedError): string {
  return message.replace(/^[A-Z]+ \/\S*?:? (?=\S)/, '').replace(/^returned/, 'requests return');
}
