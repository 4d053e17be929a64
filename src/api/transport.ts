import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici';
import type { AnswerHeaders } from '../budget/budget.ts';
import { TransportError } from '../model/errors.ts';
import type { Clock } from '../runtime/clock.ts';
import { readBody, type Body } from './body.ts';
import { networkProblem } from './network-problem.ts';

/** An answer whose headers came; its body may still have failed. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Monotonic clock, when the headers had come: the slot's window counts from here (design 5). */
  readonly receivedAt: number;
  readonly body: Body;
}

/** Bounds of one request. Durations are milliseconds. */
export interface TransportLimits {
  readonly connectMs: number;
  /** From the request's end to the answer's headers. */
  readonly headersMs: number;
  /** Longest silence within a body. */
  readonly silenceMs: number;
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

/** Values of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, as configuration read them. */
export interface ProxySettings {
  readonly http: string | undefined;
  readonly https: string | undefined;
  readonly except: string | undefined;
}

export interface TransportOptions {
  /** `{base_url}` without trailing slash and without `/v1`; it may have a path of its own. */
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly userAgent: string;
  readonly limits?: Partial<TransportLimits>;
  readonly proxy?: ProxySettings;
}

/** Connections to the service: one for all keys. It sends what it is told, once: no retries, no redirects. */
export interface Transport {
  /**
   * @param path with query, from `/v1`
   * @param asked for what: how large a body may be depends on it
   * @throws TransportError where no headers came, or the signal's reason
   */
  get(path: string, key: string, signal: AbortSignal, asked: 'page' | 'item'): Promise<HttpAnswer>;
  /** Ends all connections at once. */
  close(): Promise<void>;
}

/** Largest body read of an answer that is no 2xx: only its message is wanted. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;

export function createTransport(options: TransportOptions): Transport {
  const limits = { ...TRANSPORT_LIMITS, ...options.limits };
  const base = new URL(options.baseUrl);
  const prefix = base.pathname.replace(/\/+$/, '');
  const dispatcher = createDispatcher(limits, options.proxy);

  const exchange = async (
    path: string,
    key: string,
    signal: AbortSignal,
    maxBytes: number,
  ): Promise<HttpAnswer> => {
    const response = await orAborted(
      dispatcher.request({
        origin: base.origin,
        path: prefix + path,
        method: 'GET',
        headers: {
          authorization: `Bearer ${key}`,
          accept: 'application/json',
          'accept-encoding': 'gzip',
          'user-agent': options.userAgent,
        },
        signal,
      }),
      signal,
    );
    const receivedAt = options.clock.monotonic();
    const good = response.statusCode >= 200 && response.statusCode < 300;
    const body = await readBody(
      response.body,
      {
        encoding: response.headers['content-encoding'],
        declared: response.headers['content-length'],
      },
      good ? maxBytes : MAX_ERROR_BODY_BYTES,
      signal,
    );
    return { status: response.statusCode, headers: response.headers, receivedAt, body };
  };

  return {
    async get(path, key, signal, asked) {
      signal.throwIfAborted();
      const deadline = new AbortController();
      const over = new AbortController();
      options.clock.sleep(limits.totalMs, over.signal).then(
        () => deadline.abort(new TransportError(`no complete answer within ${limits.totalMs / 1000} s`)),
        () => {},
      );
      try {
        const maxBytes = asked === 'item' ? limits.maxItemBytes : limits.maxBodyBytes;
        return await exchange(path, key, AbortSignal.any([signal, deadline.signal]), maxBytes);
      } catch (error) {
        signal.throwIfAborted();
        throw error instanceof TransportError ? error : networkProblem(error, base.host);
      } finally {
        over.abort();
      }
    },
    close: () => dispatcher.destroy(),
  };
}

function createDispatcher(limits: TransportLimits, proxy: ProxySettings | undefined): Dispatcher {
  const connections = {
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.silenceMs,
    connectTimeout: limits.connectMs,
    connect: { timeout: limits.connectMs },
    // A page that is abandoned takes its connection with it: with HTTP/1.1 nothing of its answer can arrive later.
    allowH2: false,
  };
  if (proxy?.http === undefined && proxy?.https === undefined) return new Agent(connections);
  // Given empty, a value is no proxy; left out, undici would look into the environment itself.
  return new EnvHttpProxyAgent({
    ...connections,
    httpProxy: proxy.http ?? '',
    httpsProxy: proxy.https ?? '',
    noProxy: proxy.except ?? '',
    requestTls: { timeout: limits.connectMs },
    proxyTls: { timeout: limits.connectMs },
  });
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
