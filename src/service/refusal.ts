import { type AnswerHeaders, pauseAfter, readRateHeaders } from './rate-headers.ts';
import { type ClassifiedError } from '@research-mirror/runtime/errors';
import { KeyRefused, RateLimited, RequestRefused, ServiceError } from '../model/errors.ts';
import type { HttpAnswer } from './transport.ts';
import type { Privacy } from '../model/privacy.ts';

/**
 * The meaning of an answer by its status alone; undefined for a 2xx.
 * @param what the request, for the message: `GET /v1/lists/7`
 * @param now wall clock in ms, for a Retry-After that is a date
 * @param privacy if it is on, the service's words are not quoted: they may repeat the value of a private field
 */
export function refusal(
  what: string,
  { status, headers, text }: Pick<HttpAnswer, 'status' | 'headers' | 'text'>,
  scrub: (text: string) => string,
  now: number,
  privacy?: Pick<Privacy, 'isOn'>,
): ClassifiedError | undefined {
  if (status >= 200 && status < 300) return undefined;
  const said = privacy?.isOn === true ? '' : quote(serviceMessage(text), scrub);
  const message = `${what} was answered ${status}${said === '' ? '' : `: ${said}`}`;
  if (status === 429) return new RateLimited(message, pauseAfter(readRateHeaders(headers, now)) / 1000);
  if (status >= 500 || status === 408 || status === 425) return new ServiceError(message, status);
  if (status === 401 || status === 403) return new KeyRefused(message, status);
  const redirect = ` (a redirect to ${redirectHost(headers)}; none is followed with a key: does MIRROR_API_URL name the service itself?)`;
  return new RequestRefused(`${message}${status >= 300 && status < 400 ? redirect : ''}`, status);
}

/** The target of a redirect, without path and query, which may hold secrets. */
function redirectHost(headers: AnswerHeaders): string {
  const location = headers['location'];
  if (typeof location !== 'string') return 'nowhere';
  if (!URL.canParse(location)) return location.startsWith('/') ? 'another path' : 'no address';
  return new URL(location).origin;
}

/**
 * The message in the body of a refusal: `{error: {code, message}}`, `{detail}`, `{detail: […]}`, `{message}`, text, or
 * the title of an HTML page (docs/design/open-questions.md, "Errors and keys"). '' if there is none. Raw: see `quote`.
 */
export function serviceMessage(text: string): string {
  const body = text.trim();
  if (body.startsWith('<')) return /<title[^>]*>([^<]*)/i.exec(body)?.[1] ?? '';
  try {
    return messageIn(JSON.parse(body), 0);
  } catch {
    return body;
  }
}

/**
 * The error in a 2xx body, if any. Empty fields do not count: many services send `"error": null`, `"errors": []` or
 * `"error": 0` with every answer. Raw: see `quote`.
 */
export function errorInside(body: Readonly<Record<string, unknown>>): string | undefined {
  const error = [body['error'], body['errors']].find((value) => !isEmpty(value));
  if (error === undefined && body['object'] !== 'error' && body['success'] !== false) return undefined;
  return messageIn(error ?? { ...body, error: undefined, errors: undefined }, 0) || 'without a message';
}

/** `null`, `false`, `0`, white space, `[]`, `{}`, or a missing field. */
function isEmpty(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() === '';
  if (typeof value !== 'object' || value === null) return !(value ?? false);
  return Object.keys(value).length === 0;
}

/** Fields in which services explain errors, the clearest first. */
const MESSAGE_FIELDS = [
  'error',
  'errors',
  'message',
  'msg',
  'detail',
  'title',
  'description',
  'code',
] as const;

function messageIn(value: unknown, depth: number): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'object' || value === null || depth > 4) return '';
  if (Array.isArray(value)) {
    return value
      .slice(0, 3)
      .map((each) => messageIn(each, depth + 1))
      .filter((each) => each !== '')
      .join('; ');
  }
  const fields = value as Readonly<Record<string, unknown>>;
  // FastAPI's {loc: ['query', 'limit'], msg: 'must be …'}.
  const where = Array.isArray(fields['loc']) ? `${fields['loc'].map(String).join('.')}: ` : '';
  for (const field of MESSAGE_FIELDS) {
    const text = messageIn(fields[field], depth + 1);
    if (text === '') continue;
    const code = field === 'message' && typeof fields['code'] === 'string' ? ` (${fields['code']})` : '';
    return `${where}${text}${code}`;
  }
  return '';
}

/**
 * The service's words, fit for a message of ours: one line of at most 200 characters, without control characters and
 * without secrets (scrubbed before the cut, so that no part of one stays).
 */
export function quote(words: string, scrub: (text: string) => string): string {
  const clean = scrub(words)
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return clean.length <= 200 ? clean : `${clean.slice(0, 199).toWellFormed()}…`;
}
