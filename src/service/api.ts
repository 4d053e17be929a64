/** The client of the service: pages, single objects, requests that are sent once; what is repeated, and when. */

import type { Clock, Random } from '@research-mirror/runtime/clock';
import type { ClassifiedError } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { COLLECTIONS, type KeyType } from '../model/collections.ts';
import { AnswerTooLarge, MalformedAnswer, RateLimited, ServiceDown, TransportError } from '../model/errors.ts';
import { fieldSource } from '../model/json-text.ts';
import { readKey } from '../model/key.ts';
import { isCopy, type KnownPages, type Page } from '../model/page.ts';
import {
  type ApiContext,
  attempt,
  type OnceRequest,
  type RawAnswer,
  sendOnce,
  type ServiceRequest,
} from './attempt.ts';
import { NotSent } from './budget.ts';
import { type ObjectAnswer, quote, readObject, readPage, refusal, refuseFalseEnd, servedBy } from './envelope.ts';
import { PRIORITY } from './rate-groups.ts';
import { type AnswerHeaders, readRateHeaders } from './rate-headers.ts';
import { isAnswer, PING_ROUTE } from './service-gate.ts';
import type { HttpAnswer, Transport } from './transport.ts';

/** Bounds of repetitions. Durations are ms. */
export const RETRY_LIMITS = {
  /** Attempts without an answer, with a 5xx or a malformed body, before the request fails. */
  attempts: 5,
  /** Longest wait before the first repetition; it doubles with each. */
  baseMs: 500,
  /** Longest wait. If the Retry-After of a 5xx is longer, the request fails at once. */
  capMs: 30_000,
  /** How long 429s are repeated: twice the longest Retry-After that counts (900 s). The budget waits between. */
  rateLimitedMs: 1_800_000,
};

/** What came of an attempt; `retryAfterMs` if the service named a wait. */
type Outcome<T> =
  | { readonly value: T }
  | { readonly error: ClassifiedError; readonly retryAfterMs?: number | undefined };

/**
 * Repeats `attempt` while its failure may pass by itself. It waits a random part of a time that doubles (full jitter);
 * after a 429 the budget waits. @throws the last failure's error; the signal's reason as soon as it is aborted
 */
export async function withRetries<T>(
  attempt: () => Promise<Outcome<T>>,
  time: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
  limits = RETRY_LIMITS,
): Promise<T> {
  let failures = 0;
  let limitedSince: number | undefined;
  for (;;) {
    signal.throwIfAborted();
    const outcome = await attempt();
    if (!('error' in outcome)) return outcome.value;
    const { error, retryAfterMs = 0 } = outcome;
    if (error.remedy !== 'retry' || error instanceof ServiceDown) throw error;
    if (error instanceof RateLimited) {
      limitedSince ??= time.clock.monotonic();
      if (time.clock.monotonic() - limitedSince >= limits.rateLimitedMs) throw error;
      continue;
    }
    failures += 1;
    if (failures >= limits.attempts || retryAfterMs > limits.capMs) throw error;
    const bound = Math.min(limits.capMs, limits.baseMs * 2 ** (failures - 1));
    await time.clock.sleep(Math.max(retryAfterMs, time.random() * bound), signal);
  }
}

export type { Exchange, OnceRequest, RawAnswer } from './attempt.ts';

/** The service, for one API key. Every attempt of every request takes a slot of the budget. */
export interface Api {
  /**
   * One page of a list, proven to be one.
   * @throws AnswerTooLarge at once (the remedy is to ask for fewer items), other ClassifiedErrors, the signal's reason
   */
  page(request: PageRequest): Promise<Page>;
  /** An endpoint that answers one object: ping, account. @throws as `page` */
  object(request: ObjectRequest): Promise<ObjectAnswer>;
  /** Any request, sent at most once; the caller judges its answer. @throws as `sendOnce` */
  once(request: OnceRequest): Promise<RawAnswer | undefined>;
}

export interface ObjectRequest extends ServiceRequest {
  /** Called right before each attempt goes out. False: nothing is sent, the slot is free, Withheld is thrown. */
  readonly mayStart?: () => boolean;
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
  /** Undefined: the service's default. With 1 the body may be as large as a single item's. */
  readonly limit: number | undefined;
  /** True: the body may be as large as a single item's. */
  readonly large?: boolean | undefined;
}

export interface ApiOptions extends ApiContext {
  readonly transport: Transport;
  readonly random: Random;
  readonly retries?: typeof RETRY_LIMITS;
  /** Shared by the process: repeated bodies are not read again. */
  readonly known?: KnownPages | undefined;
}

export function createApi(options: ApiOptions): Api {
  const { transport, key, clock, random, scrub, known, privacy } = options;
  const stored = (route: string, source: string): string => {
    const name = COLLECTIONS.find((each) => each.route === route)?.name;
    return name === undefined || privacy === undefined ? source : privacy.item(name, source);
  };

  const request = <T>(
    asked: ObjectRequest & Partial<PageRequest>,
    path: string,
    read: (text: string, headers: AnswerHeaders) => T,
  ): Promise<T> => {
    const what = `GET ${asked.path}`;
    const size = asked.limit === 1 || asked.large === true ? 'item' : 'page';
    const send = async (signal: AbortSignal, begun: () => void): Promise<HttpAnswer> => {
      if (asked.mayStart?.() === false) throw new NotSent(new Withheld('not sent: it is withheld for now'));
      begun();
      return await transport.get(path, key, signal, size);
    };
    const outcomeOf = (answer: HttpAnswer): Outcome<T> => {
      const { status, headers, text, bodyError } = answer;
      const error = refusal(what, answer, scrub, clock.now(), privacy);
      if (error !== undefined) return { error, retryAfterMs: readRateHeaders(headers, clock.now()).retryAfterMs };
      try {
        if (bodyError !== undefined) throw bodyError;
        // A 206 is a part, a 203 was changed on the way, a 202 is not ready.
        if (status !== 200) throw new MalformedAnswer('only a 200 proves what the service has');
        return { value: read(text, headers) };
      } catch (error) {
        const Kind = [TransportError, MalformedAnswer, AnswerTooLarge].find((kind) => error instanceof kind);
        if (Kind === undefined) throw error;
        const message = messageOf(error);
        // Quotes of the service may have values of private fields.
        const own = privacy?.isOn === true ? message.replace(/(?:: | is "|"[^"]*" is ).*$/s, '') : message;
        return { error: new Kind(`${what} returned ${status}, but ${quote(own, scrub)}`) };
      }
    };
    const attempted = async (): Promise<Outcome<T>> => {
      const outcome = await attempt(options, 'GET', asked, send, (answer) => {
        const outcome = outcomeOf(answer);
        return { outcome, error: 'error' in outcome ? outcome.error : undefined };
      }).catch((error: unknown) => {
        if (!(error instanceof TransportError)) throw error;
        return { error };
      });
      if (!('error' in outcome) || isAnswer(outcome.error)) return outcome;
      // The gate's error also for the probe itself: if a ping is the probe, all requests wait for it.
      return { ...outcome, error: options.gate?.down() ?? outcome.error };
    };
    const signal = asked.stop === undefined ? asked.signal : AbortSignal.any([asked.signal, asked.stop]);
    return withRetries(attempted, { clock, random }, signal, options.retries);
  };

  return {
    page: (asked) => {
      const { keyField, keyType, route } = asked;
      const read = (text: string): Page => {
        const page = readPage(text, keyField, keyType);
        if (privacy?.isOn !== true) return page;
        const items = page.items.map((item) => ({ ...item, source: stored(route, item.source) }));
        return { ...page, items };
      };
      return request(asked, pagePath(asked), (text, headers) => {
        const page = known?.read(text, route, read) ?? read(text);
        const isWhole = asked.cursor === undefined && page.hasMore !== true;
        if (isWhole && page.items.length === 0) refuseFalseEnd(text, headers);
        return { ...page, served: servedBy(headers) };
      });
    },
    object: (asked) =>
      request(asked, asked.path, (text, headers) => {
        const { source, fields } = readObject(text);
        return { source: stored(asked.route, source), fields, served: servedBy(headers) };
      }),
    once: (asked) => sendOnce(options, asked),
  };
}

function pagePath({ path, cursor, limit }: PageRequest): string {
  const query = [
    limit === undefined ? [] : `limit=${limit}`,
    cursor === undefined ? [] : `starting_after=${encodeURIComponent(cursor)}`,
  ].flat();
  return query.length === 0 ? path : `${path}?${query.join('&')}`;
}

/** Pings in a row that a cache may answer before that is an error. */
const PING_ATTEMPTS = 3;

/** Pings until the service itself, no cache, names the key's owner. @returns its user_id, digits @throws as `object` */
export async function askKeyOwner(
  api: Pick<Api, 'object'>,
  { signal, stop, mayStart }: Pick<ObjectRequest, 'signal' | 'stop' | 'mayStart'>,
): Promise<string> {
  const ping = { path: PING_ROUTE, route: PING_ROUTE, priority: PRIORITY.POLL };
  const request = { ...ping, signal, ...(stop && { stop }), ...(mayStart && { mayStart }) };
  for (let tries = 0; tries < PING_ATTEMPTS; tries += 1) {
    const answer = await api.object(request);
    const owner = pingedOwner(answer);
    if (!isCopy(answer.served)) return owner;
  }
  throw new MalformedAnswer(
    'a cache answered GET /v1/ping (Age above 0), so it is unknown whose key this is now. Let GET /v1/ping bypass the cache',
  );
}

/** The `user_id` of a ping. @throws MalformedAnswer */
export function pingedOwner(answer: ObjectAnswer): string {
  const owner = ownerOf(answer);
  if (owner !== undefined) return owner;
  throw new MalformedAnswer('GET /v1/ping returned no user_id that is a 64-bit integer');
}

/** The `user_id` of a ping or an account (specification 2.1, 2.2), decimal digits; undefined if there is none. */
export function ownerOf({ source }: ObjectAnswer): string | undefined {
  const owner = readKey('bigint', fieldSource(source, 'user_id'));
  return 'key' in owner ? owner.key : undefined;
}
