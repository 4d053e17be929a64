import type { RawAnswer } from '../api/api.ts';
import { RateLimited, type TransportError } from '../model/errors.ts';
import type { SubmissionOutcome } from '../model/submission.ts';

/** Wait (ms) before another attempt, where the key may be refused: another key may be used by then. */
const KEY_UNSURE_MS = 5_000;
/** How long (ms) a request may take to arrive, and replicas to show what it did. */
const ON_ITS_WAY_MS = 30_000;
const LISTED_AFTER_MS = 60_000;

/** Whether an answer may mean that the key is refused: a ping decides. */
export function mayMeanBadKey({ status }: Pick<RawAnswer, 'status'>): boolean {
  return status === 401 || status === 403;
}

/**
 * The outcome of a submission by the status of its answer (docs/design/operations-out.md, "What came of it").
 * @param keyIsGood what a ping said after a 401 or 403; undefined where it could not be asked
 * @param timeoutMs the longest time that a request may take
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

/** The outcome of a submission without an answer. @param retryInMs where nothing was sent */
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
 * After how long (ms) a look at the service is conclusive: behind a gateway that gave up, it may still be working.
 */
function conclusiveInMs(timeoutMs: number): number {
  return timeoutMs + ON_ITS_WAY_MS + LISTED_AFTER_MS;
}
