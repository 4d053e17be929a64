// Submissions (docs/design/operations-out.md): POST operations that are queued in Postgres, sent at most once, and kept
// with their outcome.

/** Operations by their names in `<schema>.submit` (specification 4.4), in the order that messages use. */
export const OPERATION_NAMES = [
  'research',
  'enrich',
  'clay_enrich',
  'bulk_research',
  'list',
  'list_analyze',
  'sequence',
] as const;

export type OperationName = (typeof OPERATION_NAMES)[number];

/** Operations whose path has the ID of their target. */
export const TARGETED_OPERATIONS: readonly string[] = ['list_analyze', 'sequence'] satisfies OperationName[];

/** In the order of a submission's life. `held`: after a restore or copy, until released; `unknown`: not sent again. */
export const SUBMISSION_STATES = ['held', 'queued', 'sending', 'accepted', 'rejected', 'unknown', 'cancelled'] as const;

export type SubmissionState = (typeof SUBMISSION_STATES)[number];

export interface QueuedSubmission {
  /** `submission_id`: decimal digits of a bigint. */
  readonly id: string;
  readonly operation: OperationName;
  /** Null for operations without a target. */
  readonly targetId: string | null;
  /** UUID for the `Idempotency-Key` header, the same at every attempt. */
  readonly requestId: string;
}

/** A submission that its owner may send now, once. */
export interface ClaimedSubmission extends QueuedSubmission {
  /** Body of the request: JSON text of an object, no digit lost. */
  readonly payload: string;
  /** The request is written within this time after the call of `claim`, ms, or not at all. */
  readonly sendBeforeMs: number;
}

export type SubmissionOutcome =
  | {
      readonly state: 'accepted' | 'rejected';
      readonly status: number;
      readonly body: string;
      readonly error?: string;
    }
  | {
      readonly state: 'unknown';
      readonly status: number | undefined;
      readonly body: string | undefined;
      readonly error: string;
      /** Time until the service's lists show whether it took effect, ms. */
      readonly conclusiveInMs: number;
    }
  /** Provably not carried out: nothing was written, or the service refused (429, 401 or 403). */
  | { readonly state: 'queued'; readonly error: string; readonly retryInMs: number };

/** The submissions of one account, for its owner; every write is fenced. @throws LeaseLost, DatabaseUnavailable */
export interface SubmissionStore {
  /**
   * The oldest submissions that may be tried now, by ID: at most `limit` of each operation, so that the oldest `limit`
   * of each rate group are among them. None while the installation is on hold: queued ones become `held`.
   */
  queued(limit: number): Promise<readonly QueuedSubmission[]>;
  /**
   * `queued` → `sending`, committed before this resolves. Undefined if it must not be sent: it is no longer queued, its
   * last attempt is not finished, or the installation is on hold. Nothing may be sent if this throws: the store puts
   * back what it may have claimed.
   */
  claim(id: string): Promise<ClaimedSubmission | undefined>;
  /**
   * Writes the outcome of a claimed submission, and hints for the rows that the answer names, in one transaction. The
   * caller repeats it while the database is away; until then the submission can't be claimed again. It also replaces an
   * `unknown` that `recover` has written meanwhile; any other state stays.
   */
  finish(id: string, outcome: SubmissionOutcome): Promise<void>;
  /**
   * Makes `unknown` what an earlier owner left `sending`, once its request must be over.
   * @param timeoutMs longest time that a request may take after it was written
   * @param inHand submissions whose outcome this process will write
   * @returns milliseconds until the next one is due; undefined if none is left
   */
  recover(timeoutMs: number, inHand: readonly string[]): Promise<number | undefined>;
}
