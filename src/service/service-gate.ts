import type { ClassifiedError } from '@research-mirror/runtime/errors';
import type { Clock, Random } from '@research-mirror/runtime/clock';
import { untilAborted } from '@research-mirror/runtime/service';
import { RateLimited, ServiceDown } from '../model/errors.ts';

/**
 * So many requests without a good answer in a row, over two routes at least: it is the service, not one endpoint. Over
 * the ping alone, too: it goes before all others, so that nothing else is sent while it fails.
 */
const FAILURES = 8;
const ROUTES = 2;
export const PING_ROUTE = '/v1/ping';
/** The first probe waits so long, each further one twice as long as the one before. Milliseconds. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 20_000;

/** The service gives no good answer from now on, or does again. */
export type GateNews =
  | { readonly state: 'closed'; readonly reason: string }
  | { readonly state: 'open'; readonly afterMs: number };

/** A request that may go out. */
export interface Passage {
  /** To be asked when its slot is there: false where the gate has closed meanwhile. */
  readonly mayGo: () => boolean;
  /** To be called with its outcome; undefined: a good answer. */
  readonly ended: (error: ClassifiedError | undefined) => void;
  /** To be called at last, whether it went out or not. */
  readonly left: () => void;
}

interface Closed {
  readonly since: number;
  reason: string;
  waitMs: number;
  /** When the next probe may go out, by the monotonic clock. */
  dueAt: number;
  probing: boolean;
  /** Aborted where those who wait are to look again; with ServiceDown as its reason they fail. */
  turn: AbortController;
}

/**
 * While the service is down, one request at a time finds out whether it is back: the probe. All others wait for what
 * comes of it, and fail with it. Without that each poll of each account would spend its attempts, and its slots of
 * the rate limit. One gate for all keys of a service.
 */
export class ServiceGate {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #tell: (news: GateNews) => void;
  #failures = 0;
  readonly #routes = new Set<string>();
  #closed: Closed | undefined;

  constructor(clock: Clock, random: Random, tell: (news: GateNews) => void) {
    this.#clock = clock;
    this.#random = random;
    this.#tell = tell;
  }

  /**
   * Waits until the request may go out, as the probe or after it.
   * @param mayProbe false: it must not be risked
   * @throws ServiceDown where the probe failed; the signal's reason
   */
  async enter(route: string, mayProbe: boolean, signal: AbortSignal): Promise<Passage> {
    for (;;) {
      signal.throwIfAborted();
      const closed = this.#closed;
      if (closed === undefined) return this.#passage(route);
      const next = mayProbe && !closed.probing ? closed.dueAt - this.#clock.monotonic() : Infinity;
      if (next <= 0) {
        closed.probing = true;
        return this.#passage(route, closed);
      }
      const turn = closed.turn.signal;
      const ends = AbortSignal.any([signal, turn]);
      await (next === Infinity ? untilAborted(ends) : this.#clock.sleep(next, ends).catch(() => {}));
      if (turn.reason instanceof ServiceDown) throw turn.reason;
    }
  }

  /** Why nobody gets a good answer now; undefined: the gate is open. */
  down(): ServiceDown | undefined {
    return this.#closed && new ServiceDown(this.#closed.reason);
  }

  /** @param probeOf of a probe: what it tries to end */
  #passage(route: string, probeOf?: Closed): Passage {
    return {
      mayGo: () => this.#closed === probeOf || this.#closed === undefined,
      ended: (error) => {
        if (error === undefined || isAnswer(error)) this.#answered();
        else if (this.#closed === undefined) this.#unanswered(route, error);
        else if (this.#closed === probeOf) this.#probeFailed(probeOf, error);
      },
      left: () => {
        if (probeOf === undefined || !probeOf.probing) return;
        // It was not sent, or given up: another one tries.
        nextTurn(probeOf);
      },
    };
  }

  #unanswered(route: string, error: ClassifiedError): void {
    this.#failures += 1;
    this.#routes.add(route);
    const isOneEndpoint = this.#routes.size < ROUTES && route !== PING_ROUTE;
    if (this.#failures < FAILURES || isOneEndpoint) return;
    const now = this.#clock.monotonic();
    const reason = reasonOf(error);
    const dueAt = now + FIRST_WAIT_MS * (0.5 + this.#random() / 2);
    this.#closed = {
      since: now,
      reason,
      waitMs: FIRST_WAIT_MS,
      dueAt,
      probing: false,
      turn: new AbortController(),
    };
    this.#tell({ state: 'closed', reason });
  }

  #probeFailed(closed: Closed, error: ClassifiedError): void {
    closed.reason = reasonOf(error);
    closed.waitMs = Math.min(LONGEST_WAIT_MS, closed.waitMs * 2);
    closed.dueAt = this.#clock.monotonic() + closed.waitMs * (0.5 + this.#random() / 2);
    nextTurn(closed, new ServiceDown(closed.reason));
  }

  #answered(): void {
    this.#failures = 0;
    this.#routes.clear();
    const closed = this.#closed;
    if (closed === undefined) return;
    this.#closed = undefined;
    this.#tell({ state: 'open', afterMs: this.#clock.monotonic() - closed.since });
    nextTurn(closed);
  }
}

/** Whether the service is there: it refuses a request as its own. */
export function isAnswer(error: ClassifiedError): boolean {
  return error.remedy !== 'retry' || error instanceof RateLimited;
}

function nextTurn(closed: Closed, down?: ServiceDown): void {
  const { turn } = closed;
  closed.probing = false;
  closed.turn = new AbortController();
  turn.abort(down);
}

/** What is wrong, without the request that met it: the same for all. */
function reasonOf({ message }: ClassifiedError): string {
  return message.replace(/^[A-Z]+ \/\S*?:? (?=\S)/, '').replace(/^was answered/, 'requests are answered');
}
