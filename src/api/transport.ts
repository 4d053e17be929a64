import type { Dispatcher } from 'undici';
import type { AnswerMeta } from '../budget/budget.ts';
import { NotSent } from '../budget/not-sent.ts';
import { TransportError } from '../model/errors.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { readAnswerBody, type ReadBody } from './answer-body.ts';
import { createDispatcher, type ConnectionLimits, type ProxySettings } from './dispatcher.ts';
import { networkProblem } from './network-problem.ts';
import { watchWriting } from './write-watch.ts';

/** An answer whose headers came; its body may still have failed. */
export interface HttpAnswer extends AnswerMeta, ReadBody {}

/** Bounds of one request. Durations are milliseconds. */
export interface TransportLimits extends ConnectionLimits {
  /** All of it: a body that drips is given up, too. */
  readonly totalMs: number;
  /**
   * Largest body of a 2xx, after decompression. While a page is written it is in memory some ten times over (bytes,
   * text, values, rows, parameters), for every walk that is under way; and no statement may take 6 s for it.
   */
  readonly maxBodyBytes: number;
  /** The same where a single item was asked for: it can't be asked for in parts. */
  readonly maxItemBytes: number;
}

export const TRANSPORT_LIMITS: TransportLimits = {
  connectMs: 10_000,
  headersMs: 60_000,
  silenceMs: 30_000,
  totalMs: 120_000,
  maxBodyBytes: 8 * 1024 * 1024,
  maxItemBytes: 32 * 1024 * 1024,
};

export interface TransportOptions {
  /** `{base_url}` without trailing slash and without `/v1`; it may have a path of its own. */
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly userAgent: string;
  readonly limits?: Partial<TransportLimits>;
  readonly proxy?: ProxySettings;
}

/** One request, as it goes on the wire. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With query, from `/v1`. */
  readonly path: string;
  readonly key: string;
  /** JSON text; undefined: no body. */
  readonly body?: string;
  /** Besides those that every request has; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /**
   * It may have an effect, and is sent once: on a connection of its own, for one that is kept may be closing while the
   * request is written; and an abort that finds its headers come ends the body alone: the status tells of the effect.
   */
  readonly once: boolean;
  /** Largest body of a 2xx, after decompression. */
  readonly maxBytes: number;
  /**
   * Asked on the connection, in the very moment in which the request would be written: false, and nothing is.
   * Called at most once.
   */
  readonly mayWrite?: () => boolean;
}

/** Connections to the service: one for all keys. It sends what it is told, once: no retries, no redirects. */
export interface Transport {
  /**
   * @param path with query, from `/v1`
   * @param asked for what: how large a body may be depends on it
   * @throws as `send`; but what ended it before anything was written, in a NotSent where it is no TransportError
   */
  get(path: string, key: string, signal: AbortSignal, asked: 'page' | 'item'): Promise<HttpAnswer>;
  /** @throws TransportError where no headers came (`sent` tells more), or the signal's reason */
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** Ends all connections at once. */
  close(): Promise<void>;
}

/** Caches on the way are to ask the service itself: what is read is taken for what it has now. */
const FRESH = { 'cache-control': 'no-cache' };

/** Largest body read of an answer that is no 2xx: only its message is wanted. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;

export function createTransport(options: TransportOptions): Transport {
  const limits = { ...TRANSPORT_LIMITS, ...options.limits };
  const base = new URL(options.baseUrl);
  const prefix = base.pathname.replace(/\/+$/, '');
  const kept = createDispatcher(limits, options.proxy);

  const exchange = async (
    dispatcher: Dispatcher,
    { method, path, key, body, headers, once, maxBytes }: HttpRequest,
    signal: AbortSignal,
  ): Promise<HttpAnswer> => {
    const response = await orAborted(
      dispatcher.request({
        origin: base.origin,
        path: prefix + path,
        method,
        headers: {
          ...headers,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          authorization: `Bearer ${key}`,
          accept: 'application/json',
          'accept-encoding': 'gzip',
          'user-agent': options.userAgent,
        },
        ...(body === undefined ? {} : { body }),
        // Says "Connection: close".
        ...(once ? { reset: true } : {}),
        signal,
      }),
      signal,
    );
    const receivedAt = options.clock.monotonic();
    const { statusCode: status, headers: received } = response;
    const most = status >= 200 && status < 300 ? maxBytes : MAX_ERROR_BODY_BYTES;
    const whenAborted = once ? 'keep-status' : 'throw';
    const read = await readAnswerBody(response.body, received, most, signal, whenAborted);
    return { status, headers: received, receivedAt, ...read };
  };

  const send = async (request: HttpRequest): Promise<HttpAnswer> => {
    const { signal, once, mayWrite } = request;
    signal.throwIfAborted();
    const deadline = new AbortController();
    const over = new AbortController();
    options.clock.sleep(limits.totalMs, over.signal).then(
      () => deadline.abort(new TransportError(`no complete answer within ${limits.totalMs / 1000} s`)),
      () => {},
    );
    const own = once ? createDispatcher(limits, options.proxy) : undefined;
    const watch = watchWriting(own ?? kept, mayWrite);
    try {
      return await exchange(watch.dispatcher, request, AbortSignal.any([signal, deadline.signal]));
    } catch (error) {
      signal.throwIfAborted();
      throw networkProblem(error, base.host, watch.written());
    } finally {
      over.abort();
      // Not waited for: the answer is worth more than the end of its connection.
      own?.destroy().catch(() => {});
    }
  };

  return {
    get: async (path, key, signal, asked) => {
      let written = false;
      const mayWrite = (): boolean => {
        written = true;
        return true;
      };
      const maxBytes = asked === 'item' ? limits.maxItemBytes : limits.maxBodyBytes;
      try {
        const asked = { method: 'GET', path, key, headers: FRESH, signal, once: false, maxBytes } as const;
        return await send({ ...asked, mayWrite });
      } catch (error) {
        throw written || error instanceof TransportError ? error : new NotSent(error);
      }
    },
    send,
    close: () => kept.destroy(),
  };
}

/** `request`, but not longer than until `signal` aborts: undici itself notices only once it is connected. */
function orAborted<T>(request: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    request.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
