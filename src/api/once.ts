import type { AnswerHeaders, Budget } from '../budget/budget.ts';
import { NotSent } from '../budget/not-sent.ts';
import type { Priority } from '../budget/priorities.ts';
import { rateGroup } from '../budget/rate-groups.ts';
import { type ClassifiedError } from '@research-mirror/runtime/errors';
import { TransportError } from '../model/errors.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { attemptSignal } from './attempt-signal.ts';
import type { Exchange } from './exchange.ts';
import { refusal } from './refusal.ts';
import { quote, serviceMessage } from './service-message.ts';
import { TRANSPORT_LIMITS, type HttpAnswer, type HttpRequest, type Transport } from './transport.ts';

/** A request that is sent at most once: what has an effect at the service must not be repeated unasked. */
export interface OnceRequest {
  readonly method: HttpRequest['method'];
  /** From `/v1`, IDs encoded. */
  readonly path: string;
  /** The path with `{id}` for IDs. */
  readonly route: string;
  readonly priority: Priority;
  /** JSON text; as a function, asked for after `claim`. */
  readonly body?: string | (() => string);
  /** `Idempotency-Key` header. */
  readonly idempotencyKey?: string;
  /** Its abort ends the wait for a slot and the request on the wire, at once. */
  readonly signal: AbortSignal;
  /** Its abort ends the wait for a slot at once, but lets a request on the wire be answered (attempt-signal.ts). */
  readonly stop?: AbortSignal;
  /** Called when the slot is there, right before sending. False, or thrown: nothing is sent, the slot is given back. */
  readonly claim?: () => Promise<boolean>;
  /**
   * Asked when the connection is there, in the moment in which the request would be written. False: it is not, as if
   * the connection had been refused.
   */
  readonly mayWrite?: () => boolean;
  readonly onExchange?: (exchange: Exchange) => void;
}

/** An answer as it came, whatever its status. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** The body as it came: not to be quoted unscrubbed. '' where it could not be read. */
  readonly text: string;
  /** Why the body could not be read, or not to its end: the status counts all the same. */
  readonly bodyError: string | undefined;
  /** What an answer that is no 2xx means, in words fit for logs and tables. Undefined for a 2xx. */
  readonly refusal: ClassifiedError | undefined;
  /** Monotonic clock. */
  readonly receivedAt: number;
}

export interface OnceLink {
  readonly transport: Pick<Transport, 'send'>;
  readonly key: string;
  readonly budget: Pick<Budget, 'run'>;
  readonly clock: Clock;
  readonly scrub: (text: string) => string;
  readonly onExchange?: (exchange: Exchange) => void;
}

/**
 * Sends one request under a slot of the budget, on a connection of its own, and never again.
 * @returns its answer, of any status (the budget has learnt of a 429); undefined where `claim` said no
 * @throws TransportError where there is none: its `sent` tells whether the request may have reached the service. What
 *   `claim` and the budget throw, and the reason of an abort: nothing was sent then, or the wait for its status ended
 */
export async function sendOnce(link: OnceLink, asked: OnceRequest): Promise<RawAnswer | undefined> {
  const { budget, clock } = link;
  const route = `${asked.method} ${asked.route}`;
  const tried = attemptSignal(asked.signal, asked.stop, clock);
  const slot = {
    group: rateGroup(asked.method, asked.route),
    route,
    priority: asked.priority,
    signal: tried.signal,
  };
  let claimed = true;
  try {
    const answer = await budget.run(slot, async (signal) => {
      claimed = await claim(asked);
      if (!claimed) throw new NotSent('not claimed');
      tried.sent();
      return await attempt(link, asked, signal);
    });
    return answer.value;
  } catch (error) {
    if (!claimed) return undefined;
    throw error instanceof NotSent ? error.cause : error;
  } finally {
    tried.ended();
  }
}

/** @throws NotSent with what was thrown: nothing is on the wire yet */
async function claim({ claim }: OnceRequest): Promise<boolean> {
  try {
    return (await claim?.()) ?? true;
  } catch (error) {
    throw new NotSent(error);
  }
}

/** @throws TransportError, the signal's reason, what the transport throws: in a NotSent where nothing was written */
async function attempt(link: OnceLink, asked: OnceRequest, signal: AbortSignal) {
  const { transport, key, clock } = link;
  const { method, path, body, idempotencyKey, mayWrite } = asked;
  const what = `${method} ${path}`;
  const startedAt = clock.monotonic();
  let written = false;
  const report = (answer: HttpAnswer | undefined, error: ClassifiedError | undefined): void => {
    const durationMs = clock.monotonic() - startedAt;
    const bytes = answer?.body.bytes ?? 0;
    const exchange = { method, route: asked.route, status: answer?.status, durationMs, bytes, error };
    link.onExchange?.(exchange);
    asked.onExchange?.(exchange);
  };
  let answer: HttpAnswer;
  try {
    answer = await transport.send({
      method,
      path,
      key,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : body() }),
      headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
      signal,
      once: true,
      maxBytes: TRANSPORT_LIMITS.maxBodyBytes,
      mayWrite: () => {
        written = mayWrite?.() ?? true;
        return written;
      },
    });
  } catch (error) {
    const failed = failureOf(error, what, signal, written);
    if (failed === undefined) throw written ? error : new NotSent(error);
    report(undefined, failed);
    throw failed.sent ? failed : new NotSent(failed);
  }
  const { status, headers, receivedAt } = answer;
  const text = 'text' in answer.body ? answer.body.text : '';
  const said = status >= 300 ? quote(serviceMessage(text), link.scrub) : '';
  const refused = refusal(what, status, headers, said, clock.now());
  report(answer, refused);
  const bodyError = 'error' in answer.body ? quote(answer.body.error.message, link.scrub) : undefined;
  const value: RawAnswer = { status, headers, text, bodyError, refusal: refused, receivedAt };
  return { status, headers, receivedAt, value };
}

/** Undefined where the error is no news of the network, and something may have been sent. */
function failureOf(
  error: unknown,
  what: string,
  signal: AbortSignal,
  written: boolean,
): TransportError | undefined {
  if (error instanceof TransportError) {
    return new TransportError(`${what}: ${error.message}`, { cause: error.cause, sent: error.sent });
  }
  // Given up while there was no connection yet: undici sends nothing for a request that was aborted.
  return signal.aborted && !written
    ? new TransportError(`${what}: given up before it was sent`, { cause: signal.reason, sent: false })
    : undefined;
}
