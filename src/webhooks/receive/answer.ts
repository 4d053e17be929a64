/** The answer to a delivery, or to anything else that comes to its listener (docs/operations.md, "Webhooks"). */
export interface ListenerAnswer {
  readonly status: AnswerStatus;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** 405 and 415, beside those of the contract: other methods than POST, and bodies that are compressed; 500: a defect. */
export type AnswerStatus = 200 | 400 | 404 | 405 | 413 | 415 | 500 | 503;

/** Seconds after which what can't be taken now is worth another try. */
const RETRY_AFTER = '5';

/** @param text for people; says nothing that a forger could use */
export function answer(status: AnswerStatus, text: string): ListenerAnswer {
  return {
    status,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...(status === 503 ? { 'retry-after': RETRY_AFTER } : {}),
      ...(status === 405 ? { allow: 'POST' } : {}),
    },
    body: `${text}\n`,
  };
}
