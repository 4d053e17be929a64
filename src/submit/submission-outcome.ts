import type { RawAnswer } from '../api/api.ts';
import { RateLimited, type TransportError } from '../model/errors.ts';
import type { SubmissionOutcome } from '../model/submission.ts';

/** Milliseconds before a submission is tried again whose key was in doubt: until then another may stand in. */
const KEY_UNSURE_MS = 5_000;
/** Milliseconds that a request may take to arrive, and replicas to show what it did: as for deletions. */
const ON_ITS_WAY_MS = 30_000;
const LISTED_AFTER_MS = 60_000;

/** Whether an answer may mean that the key is refused: a ping tells. */
export function mayMeanBadKey({ status }: Pick<RawAnswer, 'status'>): boolean {
  return status === 401 || status === 403;
}

/**
 * What an answer makes of a submission (docs/design/operations-out.md, "What came of it"), by its status alone.
 * @param keyIsGood what a ping said after a 401 or 403; undefined where it could not be asked
 * @param timeoutMs the longest that a request may take
 */
export function outcomeOfAnswer(
  answer: RawAnswer,
  keyIsGood: boolean | undefined,
  timeoutMs: number,
): SubmissionOutcome {
  const { status, text, refusal } = answer;
  const error = refusal?.message ?? `POST was answered ${status}`;
  if (status >= 200 && status < 300) {
    const unread = answer.bodyError === undefined ? {} : { error: `${error}, but ${answer.bodyError}` };
    return { state: 'accepted', status, body: text, ...unread };
  }
  if (refusal instanceof RateLimited) {
    return { state: 'queued', error, retryInMs: refusal.retryAfter * 1000 };
  }
  if (mayMeanBadKey(answer) && keyIsGood !== true) {
    const ping = keyIsGood === undefined ? 'a ping could not tell why' : 'a ping was refused, too';
    return { state: 'queued', error: `${error} (${ping})`, retryInMs: KEY_UNSURE_MS };
  }
  if (status >= 400 && status < 500 && status !== 408 && status !== 425) {
    return { state: 'rejected', status, body: text, error };
  }
  return { state: 'unknown', status, body: text, error, conclusiveInMs: conclusiveInMs(timeoutMs) };
}

/** What a missing answer makes of a submission. @param retryInMs where nothing was sent */
export function outcomeOfFailure(
  error: TransportError,
  timeoutMs: number,
  retryInMs: number,
): SubmissionOutcome {
  return error.sent
    ? {
        state: 'unknown',
        status: undefined,
        body: undefined,
        error: error.message,
        conclusiveInMs: conclusiveInMs(timeoutMs),
      }
    : { state: 'queued', error: error.message, retryInMs };
}

/**
 * When looking is conclusive: behind a gateway that gave up, the service may go on for as long as a request may take.
 */
function conclusiveInMs(timeoutMs: number): number {
  return timeoutMs + ON_ITS_WAY_MS + LISTED_AFTER_MS;
}
