import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { orAborted } from '@research-mirror/runtime/service';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { AnswerTooLarge, MalformedAnswer, TransportError } from '../model/errors.ts';
import { type AnswerMeta, NotSent } from './budget.ts';
import type { AnswerHeaders } from './rate-headers.ts';

/** An answer whose headers came. Its body may have failed: see `bodyError`. */
export interface HttpAnswer extends AnswerMeta, AnswerBody {}

/** Bounds of one request and its connection. Durations are ms. */
export const TRANSPORT_LIMITS = {
  connectMs: 10_000,
  /** From the request's end to the answer's headers. */
  headersMs: 60_000,
  /** Longest silence within a body. */
  silenceMs: 30_000,
  /** The whole request, since each pause in a slow body may be short. */
  totalMs: 120_000,
  /** Largest body of a 2xx, decompressed. A walk has it in memory ten times, and no statement may take 6 s for it. */
  maxBodyBytes: 8 * 1024 * 1024,
  /** The same for a single item, which can't be requested in parts. */
  maxItemBytes: 32 * 1024 * 1024,
};
export type TransportLimits = typeof TRANSPORT_LIMITS;

/** One request on the wire. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With query, from `/v1`. */
  readonly path: string;
  readonly key: string;
  /** JSON text. */
  readonly body?: string;
  /** Added to those of every request; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /**
   * True for a request with an effect. It gets its own connection, since a kept one may be closing meanwhile. An abort
   * after its headers came ends the body alone: the status shows the effect.
   */
  readonly once: boolean;
  /** Largest body of a 2xx, after decompression. */
  readonly maxBytes: number;
  /** Called at most once, on the open connection, right before the request is written. False: nothing is written. */
  readonly mayWrite?: () => boolean;
}

export type Transport = ReturnType<typeof createTransport>;

/** Intermediate caches must ask the service: an answer counts as the service's present state. */
const FRESH = { 'cache-control': 'no-cache' };
/** Largest body of an answer that is no 2xx: it only has a message. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;

/** Connections to the service, for all keys. It sends each request once: no retries, no redirects. */
export function createTransport(options: {
  /** MIRROR_API_URL without trailing slash and without `/v1`; it may have a path. */
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly userAgent: string;
  readonly limits?: Partial<TransportLimits>;
  readonly proxy?: ProxySettings;
}) {
  const limits = { ...TRANSPORT_LIMITS, ...options.limits };
  const base = new URL(options.baseUrl);
  const prefix = base.pathname.replace(/\/+$/, '');
  const kept = createDispatcher(limits, options.proxy);

  /**
   * @throws TransportError if no headers came (see its `sent`); the signal's reason, in a NotSent if nothing was
   *   written and `once` is false
   */
  const send = async ({ signal: abort, once, ...request }: HttpRequest): Promise<HttpAnswer> => {
    const { method, path, body, key } = request;
    // The sender of a `once` request knows what was written.
    const aborted = (written: boolean): unknown => (once || written ? abort.reason : new NotSent(abort.reason));
    if (abort.aborted) throw aborted(false);
    const deadline = new AbortController();
    const over = new AbortController();
    options.clock.sleep(limits.totalMs, over.signal).then(
      () => deadline.abort(new TransportError(`no complete answer within ${limits.totalMs / 1000} s`)),
      () => {},
    );
    const own = once ? createDispatcher(limits, options.proxy) : undefined;
    const watch = watchWriting(own ?? kept, request.mayWrite);
    const signal = AbortSignal.any([abort, deadline.signal]);
    try {
      const sending = watch.dispatcher.request({
        origin: base.origin,
        path: prefix + path,
        method,
        headers: {
          ...request.headers,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          authorization: `Bearer ${key}`,
          accept: 'application/json',
          'accept-encoding': 'gzip',
          'user-agent': options.userAgent,
        },
        ...(body === undefined ? {} : { body }),
        // Sends "Connection: close".
        ...(once ? { reset: true } : {}),
        signal,
      });
      // Undici itself notices an abort only when it is connected.
      const response = await orAborted(sending, signal);
      const receivedAt = options.clock.monotonic();
      const { statusCode: status, headers } = response;
      const maxBytes = status >= 200 && status < 300 ? request.maxBytes : MAX_ERROR_BODY_BYTES;
      const whenAborted = once ? 'keep-status' : 'throw';
      const read = await readAnswerBody(response.body, headers, maxBytes, signal, whenAborted);
      return { status, headers, receivedAt, ...read };
    } catch (error) {
      throw abort.aborted ? aborted(watch.written()) : networkProblem(error, base.host, watch.written());
    } finally {
      over.abort();
      // The answer must not wait for the end of its connection.
      own?.destroy().catch(() => {});
    }
  };

  return {
    /** @param path with query, from `/v1` @param size decides the largest body @throws as `send` */
    get: (path: string, key: string, signal: AbortSignal, size: 'page' | 'item'): Promise<HttpAnswer> => {
      const maxBytes = size === 'item' ? limits.maxItemBytes : limits.maxBodyBytes;
      return send({ method: 'GET', path, key, headers: FRESH, signal, once: false, maxBytes });
    },
    send,
    /** Ends all connections at once. */
    close: (): Promise<void> => kept.destroy(),
  };
}

/** Values of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. */
export type ProxySettings = Readonly<Record<'http' | 'https' | 'except', string | undefined>>;

/** Connections of undici, direct or through a proxy. @param lookup resolves the host names of direct ones */
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
    // With HTTP/1.1 an abandoned request ends its connection: nothing of its answer arrives later.
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
 * Watches one request on its way through undici. Undici starts it (`onRequestStart`, in `writeH1` of its client-h1.js)
 * when the connection is ready: after the TLS handshake, after the proxy accepted CONNECT. It writes the request in the
 * same turn, unless the start throws or aborts. So a request that was never started was never written; a started one
 * may have been. Undici queues a request again if its connection is lost before the start; a second start throws here.
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
        if (!mayWrite()) throw new Error('not sent: it was too late');
        written = true;
      };
      return dispatch(options, handler);
    }),
    /** False: nothing of it was written. After a failure or an abort this no longer changes. */
    written: (): boolean => written,
  };
}

const UNKNOWN_AUTHORITY = 'has a certificate of an unknown authority';
/** Codes of a certificate that Node accepts once it knows the authority, and the remedy. */
const UNTRUSTED = /SELF_SIGNED|^UNABLE_TO_/;
const TRUST_IT = '. Set NODE_EXTRA_CA_CERTS to the file of its authority';

/** Codes of Node, OpenSSL and undici in the operator's words. */
const MEANINGS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'closed the connection before it answered',
  UND_ERR_SOCKET: 'closed the connection before it answered',
  ENOTFOUND: 'has no address (name not found)',
  EAI_AGAIN: 'has no address now (name server did not answer)',
  EHOSTUNREACH: 'is unreachable',
  ENETUNREACH: 'is unreachable (no network)',
  ETIMEDOUT: 'did not accept the connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'did not accept the connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'did not answer in time',
  UND_ERR_HEADERS_OVERFLOW: 'answered with too many headers',
  CERT_HAS_EXPIRED: 'has an expired certificate',
  CERT_NOT_YET_VALID: "has a certificate that is not valid yet (is this machine's clock right?)",
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
};

/** Words for a failure without an answer. @param host name and port @param sent whether a part may have arrived */
export function networkProblem(error: unknown, host: string, sent: boolean): TransportError {
  if (error instanceof TransportError) return new TransportError(error.message, { sent });
  const { code, cert } = codedError(error);
  const meaning = code === undefined ? undefined : MEANINGS[code];
  const names = cert?.subjectaltname?.slice(0, 200);
  const what =
    meaning === undefined
      ? `gave no answer: ${messageOf(error)}`
      : `${meaning}${names === undefined ? '' : `: it is for ${names}`} (${code})${UNTRUSTED.test(code ?? '') ? TRUST_IT : ''}`;
  return new TransportError(`${host} ${what}`, { sent, code });
}

/** Whether the failure is one of TLS or its certificate. */
export function isTlsProblem(code: string | undefined): boolean {
  return code !== undefined && /CERT|^UNABLE_TO_|^ERR_TLS_|^ERR_SSL_|^EPROTO$/.test(code);
}

/**
 * The error that has a code: itself, its cause, or the first one if several addresses were tried. If a certificate is
 * for another name, `subjectaltname` has its names (`DNS:api.example.com, IP Address:127.0.0.1`).
 */
function codedError(error: unknown): { code?: string; cert?: { subjectaltname?: string } } {
  if (!(error instanceof Error)) return {};
  const coded = error as ReturnType<typeof codedError>;
  if (typeof coded.code === 'string') return coded;
  return codedError(error instanceof AggregateError ? error.errors[0] : error.cause);
}

/** An answer's body, as far as it was read. */
export interface AnswerBody {
  /** Bytes on the wire. */
  readonly bytes: number;
  /** '' if the body could not be read. */
  readonly text: string;
  /** Why the body could not be read to its end. */
  readonly bodyError: BodyError | undefined;
}

type BodyError = MalformedAnswer | TransportError | AnswerTooLarge;

const decompress = promisify(gunzip);

/**
 * Reads a body as UTF-8 (RFC 8259; a byte order mark is dropped). It stops and closes the connection at `maxBytes`,
 * before or after decompression, and reads nothing if `Content-Length` is greater.
 * @param signal ends the reading. A TransportError as its reason (the deadline) ends the body alone: the headers count
 * @param whenAborted the effect of any other reason: `keep-status` ends the body alone, too
 * @throws only the signal's reason
 */
export async function readAnswerBody(
  stream: Readable,
  headers: AnswerHeaders,
  maxBytes: number,
  signal: AbortSignal,
  whenAborted: 'throw' | 'keep-status',
): Promise<AnswerBody> {
  const unread = (bytes: number, bodyError: BodyError): AnswerBody => ({ bytes, text: '', bodyError });
  if (Number(headers['content-length']) > maxBytes) {
    stream.on('error', () => {}).destroy();
    return unread(0, tooLarge(maxBytes));
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) return unread(bytes, tooLarge(maxBytes));
      chunks.push(chunk);
    }
  } catch (error) {
    if (whenAborted === 'throw' && !(signal.reason instanceof TransportError)) signal.throwIfAborted();
    const message = `the body broke off after ${bytes} bytes: ${messageOf(error)}`;
    return unread(bytes, new TransportError(message));
  }
  const encoding = String(headers['content-encoding'] ?? 'identity');
  const decoded = await decode(Buffer.concat(chunks, bytes), encoding, maxBytes);
  return decoded instanceof Error ? unread(bytes, decoded) : { bytes, text: decoded, bodyError: undefined };
}

async function decode(raw: Buffer, encoding: string, maxBytes: number): Promise<string | BodyError> {
  let plain = raw;
  const name = encoding.trim().toLowerCase();
  // Servers name an encoding even with a 204.
  if (raw.length === 0) return '';
  if (name === 'gzip' || name === 'x-gzip') {
    try {
      plain = await decompress(raw, { maxOutputLength: maxBytes });
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ERR_BUFFER_TOO_LARGE') return tooLarge(maxBytes);
      return new TransportError(`the body is not a whole gzip: ${messageOf(error)}`);
    }
  } else if (name !== 'identity' && name !== '') {
    return new MalformedAnswer(`the body has an encoding that was not requested (${name.slice(0, 40)})`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(plain);
  } catch {
    return new MalformedAnswer('the body is not UTF-8');
  }
}

function tooLarge(maxBytes: number): AnswerTooLarge {
  return new AnswerTooLarge(`the body is larger than ${maxBytes} bytes`);
}
