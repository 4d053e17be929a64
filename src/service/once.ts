import type { ClassifiedError } from '@research-mirror/runtime/errors';
import { TransportError } from '../model/errors.ts';
import { type ApiContext, attempt, type ServiceRequest } from './attempt.ts';
import { type AnswerMeta, NotSent } from './budget.ts';
import { quote, refusal } from './refusal.ts';
import { type HttpAnswer, type HttpRequest, type Transport, TRANSPORT_LIMITS } from './transport.ts';

/** A request that is sent at most once: it may have an effect at the service. */
export interface OnceRequest extends ServiceRequest {
  readonly method: HttpRequest['method'];
  /** JSON text; a function is called after `claim`. */
  readonly body?: string | (() => string);
  /** `Idempotency-Key` header. */
  readonly idempotencyKey?: string;
  /** Called when the slot is there, right before sending. False or an error: nothing is sent, the slot is free. */
  readonly claim?: () => Promise<boolean>;
  /** See `HttpRequest`. False: nothing is written, as if the connection had been refused. */
  readonly mayWrite?: () => boolean;
}

/** An answer as it came, whatever its status. */
export interface RawAnswer extends AnswerMeta {
  /** The body as it came: not to be quoted unscrubbed. '' if it could not be read. */
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
