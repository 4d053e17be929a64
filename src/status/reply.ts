import { randomBytes } from 'node:crypto';
import type { HttpReply } from '@research-mirror/runtime/http-listener';
import type { Html } from './html.ts';

export interface PageQuestion {
  /** As it was sent, without query: decoding it would make a part's slash a new part. */
  readonly path: string;
  readonly query: URLSearchParams;
}

export type Route = (asked: PageQuestion) => Promise<HttpReply>;

/** Of every answer; a page has a policy of its own. */
const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

export function reply(
  type: string,
  body: string,
  status = 200,
  headers: HttpReply['headers'] = {},
): HttpReply {
  return { status, headers: { ...HEADERS, 'content-type': type, ...headers }, body };
}

export function jsonReply(value: unknown, status = 200, headers: HttpReply['headers'] = {}): HttpReply {
  return reply('application/json', JSON.stringify(value), status, headers);
}

/**
 * A page of which only its own script and style run, those with the nonce, and which talks to nobody but this server.
 */
export function htmlReply(page: (nonce: string) => Html, status = 200): HttpReply {
  const nonce = randomBytes(16).toString('base64');
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
  return reply('text/html; charset=UTF-8', String(page(nonce)), status, {
    'content-security-policy': policy,
  });
}
