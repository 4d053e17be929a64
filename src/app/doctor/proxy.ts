import { connect } from 'node:net';
import { networkProblem } from '../../api/network-problem.ts';
import type { ProxyConfig } from '../../config/config.ts';
import { messageOf } from '@research-mirror/runtime/message';

export interface UsedProxy {
  readonly variable: 'HTTPS_PROXY' | 'HTTP_PROXY';
  /** With its port. */
  readonly host: string;
  readonly url: URL;
}

/** The proxy by which requests to `url` go; undefined: none, or one that can't be read. NO_PROXY may except the host. */
export function proxyFor(url: string, { http, https, except }: ProxyConfig): UsedProxy | undefined {
  const { protocol, hostname } = new URL(url);
  const [variable, given] =
    protocol === 'https:' ? (['HTTPS_PROXY', https] as const) : (['HTTP_PROXY', http] as const);
  if (given === undefined || !URL.canParse(given) || isExcepted(hostname, except ?? '')) return undefined;
  const proxy = new URL(given);
  return { variable, host: proxy.host, url: proxy };
}

/** As undici reads NO_PROXY: names with everything below them, `*` for all. */
function isExcepted(hostname: string, except: string): boolean {
  return except.split(/[,\s]+/).some((each) => {
    const name = each
      .replace(/^\*?\./, '')
      .replace(/:\d+$/, '')
      .toLowerCase();
    return name !== '' && (name === '*' || hostname === name || hostname.endsWith(`.${name}`));
  });
}

/** Why the proxy can't be connected; undefined: it can. */
export function whyProxyFails(
  { url, host, variable }: UsedProxy,
  signal: AbortSignal,
): Promise<string | undefined> {
  const standard = url.protocol === 'https:' ? 443 : 80;
  return new Promise((resolve) => {
    const socket = connect(Number(url.port || standard), url.hostname);
    const end = (why: string | undefined): void => {
      socket.destroy();
      resolve(why);
    };
    const failed = (error: unknown): void =>
      end(`the proxy of ${variable} fails: ${messageOf(networkProblem(error, host, false))}`);
    socket.once('connect', () => end(undefined));
    socket.once('error', failed);
    signal.addEventListener('abort', () => failed(signal.reason), { once: true });
  });
}
