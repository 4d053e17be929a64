import type { ClassifiedError } from '@research-mirror/runtime/errors';
import type { Clock } from '@research-mirror/runtime/clock';
import { type AnswerMeta, type Budget, NotSent } from './budget.ts';
import { type Priority, rateGroup } from './rate-groups.ts';
import { TransportError } from '../model/errors.ts';
import type { Privacy } from '../model/privacy.ts';
import { quote, refusal } from './envelope.ts';
import type { ServiceGate } from './service-gate.ts';
import { type HttpAnswer, type HttpRequest, type Transport, TRANSPORT_LIMITS } from './transport.ts';

/** How long (ms) of its 8 s a stop waits for an answer on the wire; `awaited`: another process waits to go on. */
const LINGER_MS = { alone: 5_000, awaited: 600 } as const;

/**
 * The signal of one attempt. An abort ends it at once. A stop ends a wait for a slot at once, but not a request on the
 * wire: its slot is spent, and its answer brings a page.
 * @param lingerMs how long a stop waits for the answer, called at the stop
 */
export function attemptSignal(
  { signal: abort, stop }: { readonly signal: AbortSignal; readonly stop?: AbortSignal | undefined },
  clock: Clock,
  lingerMs: () => number,
) {
  const controller = new AbortController();
  const over = new AbortController();
  let onWire = false;
  const onAbort = (): void => controller.abort(abort.reason);
  const onStop = (): void => {
    if (!onWire) controller.abort(stop?.reason);
    else
      clock.sleep(lingerMs(), over.signal).then(
        () => controller.abort(stop?.reason),
        () => {},
      );
  };
  abort.addEventListener('abort', onAbort);
  stop?.addEventListener('abort', onStop);
  if (abort.aborted) onAbort();
  else if (stop?.aborted === true) onStop();
  return {
    signal: controller.signal,
    /** Call it when the request goes out: from then on a stop waits for its answer. */
    sent: (): void => {
      onWire = true;
    },
    /** Call it when the attempt has ended. */
    ended: (): void => {
      abort.removeEventListener('abort', onAbort);
      stop?.removeEventListener('abort', onStop);
      over.abort();
    },
  };
}

/** What all requests with one API key have in common. */
export interface ApiContext {
  /** The API key itself. */
  readonly key: string;
  readonly budget: Pick<Budget, 'run'>;
  readonly clock: Clock;
  /** Replaces secrets, this key among them: errors quote the service, and appear in logs, tables and pages. */
  readonly scrub: (text: string) => string;
  readonly onExchange?: (exchange: Exchange) => void;
  /** Which fields of items are kept, before anything else reads them. */
  readonly privacy?: Privacy | undefined;
  /** Shut while the service is down. */
  readonly gate?: Pick<ServiceGate, 'enter' | 'down'> | undefined;
  /** Whether another process waits for a stop to go on with the work; left out: no. */
  readonly isAwaited?: (() => boolean) | undefined;
}

export interface ServiceRequest {
  /** From `/v1`, IDs encoded, without query. */
  readonly path: string;
  /** The path with `{id}` for IDs, as the catalogue names it. */
  readonly route: string;
  readonly priority: Priority;
  /** Its abort ends all waits, and the request on the wire, at once. */
  readonly signal: AbortSignal;
  /** Its abort ends waits at once, but lets a request on the wire be answered (`attemptSignal`). */
  readonly stop?: AbortSignal;
  /** Called for each attempt, after the context's own: a walk counts its requests and 429s. */
  readonly onExchange?: (exchange: Exchange) => void;
}

/** One ended attempt, for metrics, counters of walks and debug logs. */
export interface Exchange {
  readonly method: HttpRequest['method'];
  readonly route: string;
  /** Undefined: no answer. */
  readonly status: number | undefined;
  /** Milliseconds from sending to the body's end, or to the failure. */
  readonly durationMs: number;
  /** Bytes of the body on the wire. */
  readonly bytes: number;
  /** Undefined: the attempt succeeded. */
  readonly error: ClassifiedError | undefined;
}

/** Why a request with a slot was not sent: the gate was shut meanwhile, so the request waits for the gate again. */
const SHUT = new Error('the service is down');

/**
 * Sends one request once, through the service's gate and on a slot of the budget, and reports how it ended.
 * @param send calls `begun` right before the request goes out; a NotSent frees the slot
 * @param judge the answer's meaning to the caller, and the error that the exchange reports
 * @throws TransportError, which names the request, if no answer came; any other error of `send`, or the cause of its
 *   NotSent; what the budget throws; ServiceDown
 */
export async function attempt<T>(
  link: ApiContext,
  method: HttpRequest['method'],
  asked: ServiceRequest,
  send: (signal: AbortSignal, begun: () => void) => Promise<HttpAnswer>,
  judge: (answer: HttpAnswer) => { readonly outcome: T; readonly error: ClassifiedError | undefined },
): Promise<T> {
  const { budget, clock } = link;
  const { path, route, priority } = asked;
  const tried = attemptSignal(asked, clock, () =>
    // The answer to a request that changes something is worth a longer wait.
    method === 'GET' && link.isAwaited?.() === true ? LINGER_MS.awaited : LINGER_MS.alone,
  );
  const group = rateGroup(method, route);
  const slot = { group, route: `${method} ${route}`, priority, signal: tried.signal };
  let passage: Awaited<ReturnType<ServiceGate['enter']>> | undefined;
  let startedAt = 0;
  const begun = (): void => {
    startedAt = clock.monotonic();
    tried.sent();
  };
  const report = (answer: HttpAnswer | undefined, error: ClassifiedError | undefined): void => {
    const durationMs = clock.monotonic() - startedAt;
    const exchange = { method, route, status: answer?.status, durationMs, bytes: answer?.bytes ?? 0, error };
    passage?.ended(error);
    link.onExchange?.(exchange);
    asked.onExchange?.(exchange);
  };
  const unanswered = (error: unknown): never => {
    if (!(error instanceof TransportError)) throw error;
    const { cause, sent, code } = error;
    const named = new TransportError(`${method} ${path}: ${error.message}`, { cause, sent, code });
    report(undefined, named);
    throw sent ? named : new NotSent(named);
  };
  try {
    for (;;) {
      passage = await link.gate?.enter(route, method === 'GET', tried.signal);
      try {
        const { outcome } = await budget.run(slot, async (signal) => {
          if (passage?.mayGo() === false) throw new NotSent(SHUT);
          const answer = await send(signal, begun).catch(unanswered);
          const judged = judge(answer);
          report(answer, judged.error);
          return { ...answer, outcome: judged.outcome };
        });
        return outcome;
      } catch (error) {
        if (!(error instanceof NotSent)) throw error;
        if (error.cause !== SHUT) throw error.cause;
      } finally {
        passage?.left();
      }
    }
  } finally {
    tried.ended();
  }
}

/** A request that is sent at most once: it may have an effect at the service. */
export interface OnceRequest extends ServiceRequest, Pick<HttpRequest, 'method' | 'mayWrite'> {
  /** JSON text; a function is called after `claim`. */
  readonly body?: string | (() => string);
  /** `Idempotency-Key` header. */
  readonly idempotencyKey?: string;
  /** Called when the slot is there, right before sending. False or an error: nothing is sent, the slot is free. */
  readonly claim?: () => Promise<boolean>;
}

/** An answer of any status. */
export interface RawAnswer extends AnswerMeta {
  /** The body: not to be quoted unscrubbed. '' if it could not be read. */
  readonly text: string;
  /** Why the body could not be read to its end: the status counts all the same. */
  readonly bodyError: string | undefined;
  /** The meaning of an answer that is no 2xx, in words fit for logs and tables. Undefined for a 2xx. */
  readonly refusal: ClassifiedError | undefined;
}

/**
 * Sends one request on a slot of the budget, on its own connection, and never again.
 * @returns its answer, of any status (the budget has learnt of a 429); undefined if `claim` said no
 * @throws TransportError if there is no answer: its `sent` says whether the request may have reached the service. What
 *   `claim` and the budget throw, and the reason of an abort: nothing was sent then, or the wait for its status ended
 */
export async function sendOnce(
  link: ApiContext & { readonly transport: Pick<Transport, 'send'> },
  asked: OnceRequest,
): Promise<RawAnswer | undefined> {
  const { method, path, body, idempotencyKey, mayWrite } = asked;
  const judge = (answer: HttpAnswer) => {
    const error = refusal(`${method} ${path}`, answer, link.scrub, link.clock.now(), link.privacy);
    const bodyError = answer.bodyError && quote(answer.bodyError.message, link.scrub);
    return { outcome: { ...answer, bodyError, refusal: error }, error };
  };
  let claimed = true;
  const send = async (signal: AbortSignal, begun: () => void): Promise<HttpAnswer> => {
    try {
      claimed = (await asked.claim?.()) ?? true;
    } catch (error) {
      throw new NotSent(error);
    }
    if (!claimed) throw new NotSent('not claimed');
    begun();
    let written = false;
    try {
      return await link.transport.send({
        method,
        path,
        key: link.key,
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : body() }),
        headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
        signal,
        once: true,
        maxBytes: TRANSPORT_LIMITS.maxBodyBytes,
        mayWrite: () => (written = mayWrite?.() ?? true),
      });
    } catch (error) {
      if (error instanceof TransportError || written) throw error;
      // There was no connection yet: undici sends nothing for a request that was aborted.
      throw signal.aborted
        ? new TransportError('given up before it was sent', { cause: signal.reason, sent: false })
        : new NotSent(error);
    }
  };
  try {
    return await attempt(link, method, asked, send, judge);
  } catch (error) {
    if (!claimed) return undefined;
    throw error;
  }
}
