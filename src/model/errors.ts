import { ClassifiedError } from '@research-mirror/runtime/errors';

/** Failures of the service, its keys and its accounts, classified by what the caller must do. */

/** No usable answer: refused connection, reset, time-out, truncated body. */
export class TransportError extends ClassifiedError {
  readonly remedy = 'retry';
  /** False: provably nothing of the request reached the service. True: some of it may have. */
  readonly sent: boolean;
  /** Of Node, OpenSSL or undici, such as `ECONNREFUSED`. */
  readonly code: string | undefined;
  constructor(
    message: string,
    { sent = true, code, cause }: { sent?: boolean; code?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.sent = sent;
    this.code = code;
  }
}

/** Prefix of a ServiceDown's message, by which quotations of it are found. */
export const SERVICE_DOWN = 'the service is down: ';

/** The service answers no request well: this one was not sent, and waits until the service is back. */
export class ServiceDown extends TransportError {
  constructor(reason: string) {
    super(`${SERVICE_DOWN}${reason}`, { sent: false });
  }
}

abstract class StatusError extends ClassifiedError {
  readonly status: number;
  constructor(message: string, status: number, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** The service answered 5xx or 408/425: its own trouble. */
export class ServiceError extends StatusError {
  readonly remedy = 'retry';
}

/** 429 in spite of the budget. */
export class RateLimited extends ClassifiedError {
  readonly remedy = 'retry';
  /** Seconds to wait, clamped to 1–900; the group stops for at least 5 (docs/design/rate-limit.md, "After a 429"). */
  readonly retryAfter: number;
  constructor(message: string, retryAfter: number) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

/** A 2xx whose body breaks the specification: HTML, garbage, an error inside, no list envelope. */
export class MalformedAnswer extends ClassifiedError {
  readonly remedy = 'retry';
}

/** A body too large for memory. The same request would bring it again; a request for fewer items may not. */
export class AnswerTooLarge extends ClassifiedError {
  readonly remedy = 'skip';
}

/** Another 4xx, or an unexpected 3xx: repeating the request would not help. */
export class RequestRefused extends StatusError {
  readonly remedy = 'skip';
}

/** 401 or 403: the key is missing, wrong or withdrawn. The account stops; its data stays. */
export class KeyRefused extends StatusError {
  readonly remedy = 'stop';
}

/**
 * The key is good but belongs to another account, or the configured service is not the one that the account was
 * mirrored from. The answers are another account's: only the operator can say what is right.
 */
export class AccountMoved extends KeyRefused {
  constructor(message: string) {
    super(message, 200);
  }
}

/** Whether the key itself is refused: another key of the account may work. */
export function refusesKey(error: unknown): error is KeyRefused {
  return error instanceof KeyRefused && !(error instanceof AccountMoved);
}

/** The fence found another owner or token: this process may no longer write for the account (invariant 9). */
export class LeaseLost extends ClassifiedError {
  readonly remedy = 'stop';
}

/** Commits of this process are lost (failover, crash or restore). The account is opened again. */
export class DatabaseWentBack extends LeaseLost {
  /** What showed it: the server writes another timeline, or a commit of ours is missing. */
  readonly by: 'timeline' | 'commits';
  constructor(message: string, by: 'timeline' | 'commits') {
    super(`the database went back: ${message}`);
    this.by = by;
  }
}

/** The database's clock was set: times in memory are void, and the account is opened again. */
export class ClockStepped extends LeaseLost {
  /** Milliseconds; negative: back. */
  readonly byMs: number;
  constructor(message: string, byMs: number) {
    super(message);
    this.byMs = byMs;
  }
}

/** A commit got no answer: memory may be ahead of the database or behind it. The account is opened again. */
export class OutcomeUnknown extends LeaseLost {}

/** An operator took the account out of the mirror. */
export class AccountRetired extends LeaseLost {
  constructor(userId: string) {
    super(`account ${userId} is retired. To mirror it again: "research-mirror accounts retire ${userId} --undo"`);
  }
}

/** A column can't get another type now: the message says why, with the remedy. Nothing was changed. */
export class TypeRefused extends ClassifiedError {
  readonly remedy = 'stop';
}
