import type { AnswerHeaders, Budget } from '../budget/budget.ts';
import { NotSent } from '../budget/not-sent.ts';
import type { Priority } from '../budget/priorities.ts';
import { readRateHeaders } from '../budget/evidence/rate-headers.ts';
import { rateGroup } from '../budget/rate-groups.ts';
import type { KeyType } from '../model/collections.ts';
import { type ClassifiedError } from '@research-mirror/runtime/errors';
import { AnswerTooLarge, MalformedAnswer, TransportError } from '../model/errors.ts';
import type { Page } from '../model/page.ts';
import type { Clock, Random } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { attemptSignal } from './attempt-signal.ts';
import { readObject, readPage, type ObjectAnswer } from './envelope.ts';
import type { Exchange } from './exchange.ts';
import { sendOnce, type OnceRequest, type RawAnswer } from './once.ts';
import { refusal } from './refusal.ts';
import { withRetries, type Failure, type RetryLimits } from './retry.ts';
import { servedBy } from './served.ts';
import { quote, serviceMessage } from './service-message.ts';
import type { HttpAnswer, Transport } from './transport.ts';

export type { Exchange } from './exchange.ts';
export type { OnceRequest, RawAnswer } from './once.ts';

/** The service, for one API key. Every attempt of every request has a slot of the budget. */
export interface Api {
  /**
   * One page of a list, proven to be one.
   * @throws AnswerTooLarge, at once: ask for fewer items; another ClassifiedError, classified by what the caller must do;
   * the signal's reason
   */
  page(request: PageRequest): Promise<Page>;
  /** An endpoint that answers one object: ping, account. @throws as `page` */
  object(request: ObjectRequest): Promise<ObjectAnswer>;
  /** Any request, sent at most once; what its answer means is the caller's to say. @throws as `sendOnce` */
  once(request: OnceRequest): Promise<RawAnswer | undefined>;
}

export interface ObjectRequest {
  /** From `/v1`, IDs encoded, without query. */
  readonly path: string;
  /** The path with `{id}` for IDs, as the catalogue names it. */
  readonly route: string;
  readonly priority: Priority;
  /** Its abort ends the wait for a slot, the request on the wire and the waits between attempts, at once. */
  readonly signal: AbortSignal;
  /** Its abort ends waits at once, but lets a request on the wire be answered (attempt-signal.ts). */
  readonly stop?: AbortSignal;
  /**
   * Asked when the slot is there, right before each attempt goes out. False: nothing is sent, the slot is given back, and
   * Withheld is thrown.
   */
  readonly mayStart?: () => boolean;
  /** Called for each attempt, besides the Api's own: a walk counts its requests and 429s. */
  readonly onExchange?: (exchange: Exchange) => void;
}

/** A request's `mayStart` said no. */
export class Withheld extends Error {
  override readonly name = 'Withheld';
}

export interface PageRequest extends ObjectRequest {
  readonly keyField: string;
  readonly keyType: KeyType;
  /** `starting_after`, as received; undefined for the first page. */
  readonly cursor: string | undefined;
  /** Undefined: the service's own. The body of a page may be larger where a single item is asked for. */
  readonly limit: number | undefined;
  /** It may be as large in any case. */
  readonly large?: boolean | undefined;
}

export interface ApiOptions {
  readonly transport: Transport;
  /** The API key itself. */
  readonly key: string;
  /** The key's budget. */
  readonly budget: Pick<Budget, 'run'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Replaces secrets, this key among them: errors quote the service, end in tables and pages, not in logs alone. */
  readonly scrub: (text: string) => string;
  readonly retries?: RetryLimits;
  readonly onExchange?: (exchange: Exchange) => void;
}

export function createApi(options: ApiOptions): Api {
  const { transport, key, budget, clock, random, scrub } = options;

  /** Sends one request, once, and judges its answer; every failure of the service is a value. */
  const attempt = async <T>(
    asked: ObjectRequest & Partial<PageRequest>,
    path: string,
    read: (text: string, headers: AnswerHeaders) => T,
  ): Promise<{ readonly value: T } | Failure> => {
    const { route, priority } = asked;
    const wanted = asked.limit === 1 || asked.large === true ? 'item' : 'page';
    const tried = attemptSignal(asked.signal, asked.stop, clock);
    const slot = { group: rateGroup('GET', route), route: `GET ${route}`, priority, signal: tried.signal };
    let startedAt = 0;
    const report = (answer: HttpAnswer | undefined, error: ClassifiedError | undefined): void => {
      const durationMs = clock.monotonic() - startedAt;
      const bytes = answer?.body.bytes ?? 0;
      const exchange: Exchange = { method: 'GET', route, status: answer?.status, durationMs, bytes, error };
      options.onExchange?.(exchange);
      asked.onExchange?.(exchange);
    };
    try {
      const { value: outcome } = await budget.run(slot, async (sendSignal) => {
        if (asked.mayStart?.() === false) throw new NotSent(new Withheld('not sent: it may not go out now'));
        startedAt = clock.monotonic();
        tried.sent();
        const answer = await transport.get(path, key, sendSignal, wanted).catch(unsent);
        const value = judge(`GET ${asked.path}`, answer, read);
        report(answer, 'error' in value ? value.error : undefined);
        return { ...answer, value };
      });
      return outcome;
    } catch (thrown) {
      const error = thrown instanceof NotSent ? thrown.cause : thrown;
      if (!(error instanceof TransportError)) throw error;
      const { cause, sent } = error;
      const named = new TransportError(`GET ${asked.path}: ${error.message}`, { cause, sent });
      report(undefined, named);
      return { error: named, retryAfterMs: undefined };
    } finally {
      tried.ended();
    }
  };

  const judge = <T>(
    what: string,
    { status, headers, body }: HttpAnswer,
    read: (text: string, headers: AnswerHeaders) => T,
  ): { readonly value: T } | Failure => {
    const said = 'text' in body && status >= 300 ? quote(serviceMessage(body.text), scrub) : '';
    const refused = refusal(what, status, headers, said, clock.now());
    if (refused !== undefined)
      return { error: refused, retryAfterMs: readRateHeaders(headers, clock.now()).retryAfterMs };
    try {
      if ('error' in body) throw body.error;
      return { value: read(body.text, headers) };
    } catch (error) {
      const Kind = [TransportError, MalformedAnswer, AnswerTooLarge].find((kind) => error instanceof kind);
      if (Kind === undefined) throw error;
      const words = quote(messageOf(error), scrub);
      return { error: new Kind(`${what} was answered ${status}, but ${words}`), retryAfterMs: undefined };
    }
  };

  const request = <T>(
    asked: ObjectRequest,
    path: string,
    read: (text: string, headers: AnswerHeaders) => T,
  ): Promise<T> => {
    const signal = asked.stop === undefined ? asked.signal : AbortSignal.any([asked.signal, asked.stop]);
    return withRetries(() => attempt(asked, path, read), { clock, random }, signal, options.retries);
  };

  return {
    page: (asked) =>
      request(asked, pagePath(asked), (text, headers) => ({
        ...readPage(text, asked.keyField, asked.keyType),
        served: servedBy(headers),
      })),
    object: (asked) =>
      request(asked, asked.path, (text, headers) => ({ ...readObject(text), served: servedBy(headers) })),
    once: (asked) => sendOnce(options, asked),
  };
}

/** Tells the budget of a request that never left: its slot is free again. @throws always */
function unsent(error: unknown): never {
  throw error instanceof TransportError && !error.sent ? new NotSent(error) : error;
}

function pagePath({ path, cursor, limit }: PageRequest): string {
  const query = [
    ...(limit === undefined ? [] : [`limit=${limit}`]),
    ...(cursor === undefined ? [] : [`starting_after=${encodeURIComponent(cursor)}`]),
  ];
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}
