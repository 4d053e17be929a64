import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type PageQuestion, jsonReply, type PageReply, type Route } from './page-reply.ts';

/** Of every answer; a page has a policy of its own. */
const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

/**
 * Answers one request by `route`. Written for Node's own server: the `Request` and `Response` of the web, which
 * frameworks for it need, are 19 MB and 60 ms of processor time as soon as somebody touches them.
 * @param onError called for a defect, which is answered with 500
 */
export async function takeRequest(
  request: IncomingMessage,
  response: ServerResponse,
  route: Route,
  onError: (error: unknown, path: string) => void,
): Promise<void> {
  const asked = readRequest(request);
  // Nobody reads what a reader that is gone is sent; without a listener its error would end the process.
  response.on('error', () => {});
  request.resume();
  try {
    await sendReply(response, await replyTo(request.method, asked, route), request.method === 'HEAD');
  } catch (error) {
    onError(error, asked?.path ?? '');
    if (response.headersSent) response.destroy();
    else await sendReply(response, jsonReply({ error: 'internal error' }, 500), request.method === 'HEAD');
  }
}

function replyTo(
  method: string | undefined,
  asked: PageQuestion | undefined,
  route: Route,
): PageReply | Promise<PageReply> {
  if (method !== 'GET' && method !== 'HEAD') {
    return jsonReply({ error: 'only GET and HEAD are answered here' }, 405, { allow: 'GET, HEAD' });
  }
  return asked === undefined ? jsonReply({ error: 'this is no address' }, 400) : route(asked);
}

/** @returns undefined for an address that is none */
function readRequest({ url = '', headers }: IncomingMessage): PageQuestion | undefined {
  // A proxy may be asked with a whole address; of two slashes at the beginning the rest is no host.
  const address = url.startsWith('/') ? `http://localhost${url}` : url;
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) return undefined;
  const { pathname, searchParams } = new URL(address);
  return { path: pathname, query: searchParams, header: (name) => headers[name] };
}

async function sendReply(response: ServerResponse, reply: PageReply, onlyHead: boolean): Promise<void> {
  const { status, headers, body } = reply;
  if (typeof body === 'string') {
    const length = { 'content-length': Buffer.byteLength(body) };
    response.writeHead(status, { ...HEADERS, ...headers, ...length }).end(onlyHead ? undefined : body);
    return;
  }
  response.writeHead(status, { ...HEADERS, ...headers });
  if (!onlyHead) {
    response.flushHeaders();
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    await body(async (text) => {
      if (response.write(text) || gone.signal.aborted) return;
      await once(response, 'drain', { signal: gone.signal }).catch(() => {});
    }, gone.signal);
  }
  response.end();
}
