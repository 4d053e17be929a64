import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici';

/** Values of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, as configuration read them. */
export interface ProxySettings {
  readonly http: string | undefined;
  readonly https: string | undefined;
  readonly except: string | undefined;
}

/** Bounds of connections. Durations are milliseconds. */
export interface ConnectionLimits {
  readonly connectMs: number;
  /** From the request's end to the answer's headers. */
  readonly headersMs: number;
  /** Longest silence within a body. */
  readonly silenceMs: number;
}

/** Connections of undici's, direct or by way of a proxy. */
export function createDispatcher(limits: ConnectionLimits, proxy: ProxySettings | undefined): Dispatcher {
  const connections = {
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.silenceMs,
    connectTimeout: limits.connectMs,
    connect: { timeout: limits.connectMs },
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
