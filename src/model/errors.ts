import { ClassifiedError } from '@research-mirror/runtime/errors';

/** Failures of the service, its keys and its accounts, classified by what the caller must do. */

/** No usable answer: refused connection, reset, time-out, truncated body. */
export class TransportError extends ClassifiedError {
  readonly remedy = 'retry';
  /** False: provably nothing of the request reached the service. True: some of it may have. */
  readonly sent: boolean;
  /** Of Node, OpenSSL or undici: `ECONNREFUSED`; undefined where there is none. */
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

/** How the message of a ServiceDown begins, wherever it is quoted. */
export const SERVICE_DOWN = 'the service is down: ';

/** The service gives nobody a good answer: the request was not sent, and is not repeated before the service is back. */
export class ServiceDown extends TransportError {
  constructor(reason: string) {
    super(`${SERVICE_DOWN}${reason}`, { sent: false });
  }
}

/** An answer that is no good one. */
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
  /** Seconds to wait, already clamped to 1–900; its group stops for 5 at least (docs/design/rate-limit.md, "After a 429"). */
  readonly retryAfter: number;
  constructor(message: string, retryAfter: number) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

/** A 2xx whose body is not what the specification says: HTML, garbage, an error inside, no list envelope. */
export class MalformedAnswer extends ClassifiedError {
  readonly remedy = 'retry';
}

/** A body too large for memory: the same request would bring it again, one for fewer items may not. */
export class AnswerTooLarge extends ClassifiedError {
  readonly remedy = 'skip';
}

/** Another 4xx, or an unexpected 3xx: repeating the request would not help. */
export class RequestRefused extends StatusError {
  readonly remedy = 'skip';
}

/** 401 or 403: the key is missing, wrong or withdrawn. The account stops, its data stays. */
export class KeyRefused extends StatusError {
  readonly remedy = 'stop';
}

/**
 * The key is good, but belongs to another account; or the configured service is not the one that the account was
 * mirrored from. Its answers are another account's: only the operator can say what is right.
 */
export class AccountMoved extends KeyRefused {
  constructor(message: string) {
    super(message, 200);
  }
}

/** Whether the key itself is refused, so that another key of the account may do. */
export function refusesKey(error: unknown): error is KeyRefused {
  return error instanceof KeyRefused && !(error instanceof AccountMoved);
}

/** The fence found another owner or token: this process may not write for the account any more (invariant 9). */
export class LeaseLost extends ClassifiedError {
  readonly remedy = 'stop';
}

/**
 * Commits of this process are gone (after a failover, a crash or a restore): what it knows of the account is void,
 * and the account is opened again.
 */
export class DatabaseWentBack extends LeaseLost {
  /** Found by: the server writes another timeline; or a commit of ours is not there. */
  readonly by: 'timeline' | 'commits';
  constructor(message: string, by: 'timeline' | 'commits') {
    super(`the database went back: ${message}`);
    this.by = by;
  }
}

/** The database's clock was set: what an account's owner remembers of moments is void, and it is opened again. */
export class ClockStepped extends LeaseLost {
  /** Milliseconds; negative: back. */
  readonly byMs: number;

  constructor(message: string, byMs: number) {
    super(message);
    this.byMs = byMs;
  }
}

/** A commit was not answered: memory may be ahead of the database or behind it. The account is opened again. */
export class OutcomeUnknown extends LeaseLost {}

/** An operator took the account out of the mirror. */
export class AccountRetired extends LeaseLost {
  constructor(userId: string) {
    super(`account ${userId} is retired: "research-mirror accounts retire ${userId} --undo" takes it back`);
  }
}

/** A column can't get another type as things stand: the message says why, with the remedy. Nothing was changed. */
export class TypeRefused extends ClassifiedError {
  readonly remedy = 'stop';
}
