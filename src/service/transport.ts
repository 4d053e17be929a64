import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { orAborted } from '@research-mirror/runtime/service';
import type { LookupFunction } from 'node:net';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { TransportError } from '../model/errors.ts';
import { readAnswerBody, type ReadBody } from './answer-body.ts';
import { type AnswerMeta, NotSent } from './budget.ts';

/** An answer whose headers came. Its body may have failed: see `bodyError`. */
export interface HttpAnswer extends AnswerMeta, ReadBody {}

/** Bounds of one request and its connection. Durations are milliseconds. */
export const TRANSPORT_LIMITS = {
  connectMs: 10_000,
  /** From the request's end to the answer's headers. */
  headersMs: 60_000,
  /** Longest silence within a body. */
  silenceMs: 30_000,
  /** The whole request: a body that comes too slowly is given up, too. */
  totalMs: 120_000,
  /**
   * Largest body of a 2xx, after decompression. While a page is written, every walk has it in memory some ten times
   * (bytes, text, values, rows, parameters), and no statement may take 6 s for it.
   */
  maxBodyBytes: 8 * 1024 * 1024,
  /** The same for a single item, which can't be asked for in parts. */
  maxItemBytes: 32 * 1024 * 1024,
};
export type TransportLimits = typeof TRANSPORT_LIMITS;

export interface TransportOptions {
  /** `{base_url}` without trailing slash and without `/v1`; it may have a path. */
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
  /** Besides those of every request; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /**
   * It may have an effect, and is sent once: on a connection of its own, since a kept one may be closing while the
   * request is written. An abort after its headers came ends the body alone: the status shows the effect.
   */
  readonly once: boolean;
  /** Largest body of a 2xx, after decompression. */
  readonly maxBytes: number;
  /** Called at most once, at the moment when the request would be written. False: nothing is written. */
  readonly mayWrite?: () => boolean;
}

/** Connections to the service, for all keys. It sends each request once: no retries, no redirects. */
export interface Transport {
  /**
   * @param path with query, from `/v1`
   * @param asked decides how large the body may be
   * @throws as `send`
   */
  get(path: string, key: string, signal: AbortSignal, asked: 'page' | 'item'): Promise<HttpAnswer>;
  /**
   * @throws TransportError where no headers came (see its `sent`); the signal's reason, in a NotSent where nothing was
   *   written of one that may be sent again
   */
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** Ends all connections at once. */
  close(): Promise<void>;
}

/** Intermediate caches must ask the service: what is read counts as what it has now. */
const FRESH = { 'cache-control': 'no-cache' };

/** Largest body of an answer that is no 2xx: only its message is needed. */
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
    // An abort: undici itself notices it only when it is connected.
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
    // Who sends it once knows what was written.
    const aborted = (written: boolean): unknown =>
      once || written ? signal.reason : new NotSent(signal.reason);
    if (signal.aborted) throw aborted(false);
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
      throw signal.aborted ? aborted(watch.written()) : networkProblem(error, base.host, watch.written());
    } finally {
      over.abort();
      // Not awaited: the answer must not wait for the end of its connection.
      own?.destroy().catch(() => {});
    }
  };

  return {
    get: (path, key, signal, asked) => {
      const maxBytes = asked === 'item' ? limits.maxItemBytes : limits.maxBodyBytes;
      return send({ method: 'GET', path, key, headers: FRESH, signal, once: false, maxBytes });
    },
    send,
    close: () => kept.destroy(),
  };
}

/** Values of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, as configuration read them. */
export interface ProxySettings {
  readonly http: string | undefined;
  readonly https: string | undefined;
  readonly except: string | undefined;
}

/**
 * Connections of undici's, direct or by way of a proxy.
 * @param lookup finds the addresses of those that are direct
 */
export function createDispatcher(
  limits: Pick<TransportLimits, 'connectMs' | 'headersMs' | 'silenceMs'>,
  proxy: ProxySettings | undefined,
  lookup?: LookupFunction,
): Dispatcher {
  const connections = {
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.silenceMs,
    connectTimeout: limits.connectMs,
    connect: { timeout: limits.connectMs, ...(lookup && { lookup }) },
    // With HTTP/1.1 an abandoned request takes its connection with it: nothing of its answer arrives later.
    allowH2: false,
  };
  if (proxy?.http === undefined && proxy?.https === undefined) return new Agent(connections);
  // An empty value means no proxy. Without a value undici would read the environment itself.
  return new EnvHttpProxyAgent({
    ...connections,
    httpProxy: proxy.http ?? '',
    httpsProxy: proxy.https ?? '',
    noProxy: proxy.except ?? '',
    requestTls: { timeout: limits.connectMs },
    proxyTls: { timeout: limits.connectMs },
  });
}

/**
 * Watches one request on its way through undici, which starts it (`onRequestStart`, in `writeH1` of its client-h1.js)
 * when its connection is ready: after the TLS handshake, after the proxy accepted CONNECT. It writes the request in
 * the same turn, unless the start throws or aborts. So a request that was never started was never written; one that
 * was started may have been. undici queues a request again when its connection is lost before the start; a second
 * start throws here.
 */
export function watchWriting(dispatcher: Dispatcher, mayWrite: () => boolean = () => true) {
  let written = false;
  return {
    dispatcher: dispatcher.compose((dispatch) => (options, handler) => {
      const start = handler.onRequestStart?.bind(handler);
      handler.onRequestStart = (controller, context) => {
        start?.(controller, context);
        if (controller.aborted) return;
        if (written) throw new Error('a request that was written is not written again');
        if (!mayWrite()) throw new Error('not sent: it was too late for it');
        written = true;
      };
      return dispatch(options, handler);
    }),
    /** False: nothing of it was written. After a failure or an abort this no longer changes. */
    written: (): boolean => written,
  };
}

/** What a code of Node, OpenSSL or undici means to the operator. */
const MEANINGS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'closed the connection before it answered',
  UND_ERR_SOCKET: 'closed the connection before it answered',
  ENOTFOUND: 'has no address (name not found)',
  EAI_AGAIN: 'has no address now (name server did not answer)',
  EHOSTUNREACH: 'is unreachable',
  ENETUNREACH: 'is unreachable (no network)',
  ETIMEDOUT: 'could not be connected in time',
  UND_ERR_CONNECT_TIMEOUT: 'could not be connected in time',
  UND_ERR_HEADERS_TIMEOUT: 'did not answer in time',
  UND_ERR_HEADERS_OVERFLOW: 'answered with too many headers',
  CERT_HAS_EXPIRED: 'has an expired certificate',
  CERT_NOT_YET_VALID: "has a certificate that is not valid yet (is this machine's clock right?)",
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a self-signed certificate: name its file in NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN:
    'has a certificate of an unknown authority: name its file in NODE_EXTRA_CA_CERTS',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'has a certificate of an unknown authority: name its file in NODE_EXTRA_CA_CERTS',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'has a certificate of an unknown authority: name its file in NODE_EXTRA_CA_CERTS',
};

/** Characters of a certificate's names that are told. */
const MOST_NAMES = 200;

interface CodedError {
  readonly code?: string;
  /** Of a certificate for another name: `DNS:api.example.com, IP Address:127.0.0.1`. */
  readonly cert?: { readonly subjectaltname?: string };
}

/**
 * A failure without an answer, in words.
 * @param host name and port of the service
 * @param sent whether some of the request may have reached it
 */
export function networkProblem(error: unknown, host: string, sent: boolean): TransportError {
  if (error instanceof TransportError) return new TransportError(error.message, { sent });
  const { code, cert } = codedError(error);
  const meaning = code === undefined ? undefined : MEANINGS[code];
  const names = cert?.subjectaltname?.slice(0, MOST_NAMES);
  return meaning === undefined
    ? new TransportError(`${host} gave no answer: ${messageOf(error)}`, { sent, code })
    : new TransportError(`${host} ${meaning}${names === undefined ? '' : `: it is for ${names}`} (${code})`, {
        sent,
        code,
      });
}

/** Whether the failure is the certificate's, or TLS itself. */
export function isTlsProblem(code: string | undefined): boolean {
  return code !== undefined && /CERT|^UNABLE_TO_|^ERR_TLS_|^ERR_SSL_|^EPROTO$/.test(code);
}

/** The error that has a code: itself, its cause, or the first attempt's where several addresses were tried. */
function codedError(error: unknown): CodedError {
  if (!(error instanceof Error)) return {};
  const coded = error as CodedError;
  if (typeof coded.code === 'string') return coded;
  return codedError(error instanceof AggregateError ? error.errors[0] : error.cause);
}
