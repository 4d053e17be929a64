import type { AnswerHeaders } from '../budget/budget.ts';
import { pauseAfter, readRateHeaders } from '../budget/evidence/rate-headers.ts';
import { type ClassifiedError } from '@research-mirror/runtime/errors';
import { KeyRefused, MalformedAnswer, RateLimited, RequestRefused, ServiceError } from '../model/errors.ts';
import { quote, serviceMessage } from './service-message.ts';
import type { HttpAnswer } from './transport.ts';

/**
 * What an answer that is no 2xx means, decided by its status alone. Undefined for a 2xx.
 * @param what the request, for the message: `GET /v1/lists/7`
 * @param now wall clock, milliseconds: for a Retry-After that is a date
 */
export function refusal(
  what: string,
  { status, headers, text }: Pick<HttpAnswer, 'status' | 'headers' | 'text'>,
  scrub: (text: string) => string,
  now: number,
): ClassifiedError | undefined {
  if (status >= 200 && status < 300) return undefined;
  const said = quote(serviceMessage(text), scrub);
  const message = `${what} was answered ${status}${said === '' ? '' : `: ${said}`}`;
  if (status === 429) return new RateLimited(message, pauseAfter(readRateHeaders(headers, now)) / 1000);
  if (status >= 500 || status === 408 || status === 425) return new ServiceError(message, status);
  if (status === 401 || status === 403) return new KeyRefused(message, status);
  if (status >= 300 && status < 400) {
    return new RequestRefused(
      `${message} (a redirect to ${redirectHost(headers)}; none is followed with a key: does MIRROR_API_URL name the service itself?)`,
      status,
    );
  }
  return new RequestRefused(message, status);
}

/**
 * Of what is read, only a 200 says what there is: a 206 is a part, a 203 was changed on the way, a 202 is not ready.
 * @param status of an answer that is no refusal
 * @throws MalformedAnswer, to follow "… was answered 206, but "
 */
export function refuseOtherSuccess(status: number): void {
  if (status !== 200) throw new MalformedAnswer('only a 200 proves what the service has');
}

/** Where a redirect leads, without path and query, which may hold secrets. */
function redirectHost(headers: AnswerHeaders): string {
  const location = headers['location'];
  if (typeof location !== 'string') return 'nowhere';
  if (!URL.canParse(location)) return location.startsWith('/') ? 'another path' : 'no address';
  return new URL(location).origin;
}
