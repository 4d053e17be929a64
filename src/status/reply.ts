import type { HttpReply } from '@research-mirror/runtime/http-listener';
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Headers of every answer; a page has its own policy. */
const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

export function reply(type: string, body: string, status = 200, headers: HttpReply['headers'] = {}) {
  return { status, headers: { ...HEADERS, 'content-type': type, ...headers }, body };
}

export function jsonReply(value: unknown, status = 200, headers: HttpReply['headers'] = {}): HttpReply {
  return reply('application/json', JSON.stringify(value), status, headers);
}

/** A page that runs only its own script and style, those with the nonce, and talks only to this server. */
export function htmlReply(page: (nonce: string) => Html, status = 200): HttpReply {
  const nonce = randomBytes(16).toString('base64');
  const policy =
    `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src data:; connect-src 'self'; ` +
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
  const headers = { 'content-security-policy': policy };
  return reply('text/html; charset=UTF-8', String(page(nonce)), status, headers);
}

/** HTML text that is not escaped again. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** Values of the tag: text is escaped; lists are joined; null and undefined show nothing. */
type Part = string | number | Html | readonly Part[] | null | undefined;

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Takes our own text as HTML. */
export function raw(text: string): Html {
  return new Html(text);
}

/** A template tag: HTML with every value escaped, also between the quotes of an attribute. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(texts.reduce((before, text, n) => `${before}${shown(parts[n - 1])}${text}`));
}

function shown(part: Part): string {
  if (part === undefined || part === null) return '';
  if (typeof part === 'string') return part.replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '');
  if (typeof part === 'number' || part instanceof Html) return String(part);
  return part.map(shown).join('');
}

/** Whether only this machine can reach it. @param host a configured name or address */
export function isLoopbackName(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name);
}

/** Whether `Host` is a loopback name, with any port: a page that points its own name at 127.0.0.1 can't pass. */
export function isLoopbackHostHeader(host: string | undefined): boolean {
  const url = host === undefined ? null : URL.parse(`http://${host}`);
  return url !== null && isLoopbackName(url.hostname);
}

/**
 * Checks an `Authorization` header: `Bearer <token>`, or `Basic` with any user and the token as password. Takes the
 * same time for every wrong token.
 */
export function tokenCheck(token: string): (authorization: string | undefined) => boolean {
  const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
  return (authorization) => {
    const given = tokenIn(authorization ?? '');
    return given !== undefined && timingSafeEqual(sha256(given), sha256(token));
  };
}

function tokenIn(authorization: string): string | undefined {
  const [, scheme, value] = /^(Bearer|Basic) +(\S+) *$/i.exec(authorization) ?? [];
  if (scheme === undefined || value === undefined) return undefined;
  if (scheme.toLowerCase() === 'bearer') return value;
  const pair = Buffer.from(value, 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  return colon === -1 ? undefined : pair.slice(colon + 1);
}
