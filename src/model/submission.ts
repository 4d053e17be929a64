/**
 * Words of submissions (docs/design/operations-out.md, "Submissions"): POST operations that are queued in Postgres,
 * sent at most once, and kept with their outcome. `db` keeps them, `submit` sends them; neither imports the other.
 */

/** Operations as `<schema>.submit` names them (specification 4.4), in the order in which messages name them. */
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

/** Those that are carried out on something whose ID is part of the path; the others' payload says on what. */
export const TARGETED_OPERATIONS: readonly string[] = ['list_analyze', 'sequence'] satisfies OperationName[];

/**
 * In the order of a submission's life. `held`: after a restore or copy, until released; `unknown`: it may have taken
 * effect, and is never sent again.
 */
export const SUBMISSION_STATES = [
  'held',
  'queued',
  'sending',
  'accepted',
  'rejected',
  'unknown',
  'cancelled',
] as const;

export type SubmissionState = (typeof SUBMISSION_STATES)[number];

export interface QueuedSubmission {
  /** `submission_id`: decimal digits of a bigint. */
  readonly id: string;
  readonly operation: OperationName;
  /** Null for operations without a target. */
  readonly targetId: string | null;
  /** UUID for the `Idempotency-Key` header: the same at every attempt. */
  readonly requestId: string;
}

/** A submission that its owner may send now, once. */
export interface ClaimedSubmission extends QueuedSubmission {
  /** Body of the request: JSON text of an object, no digit lost. */
  readonly payload: string;
  /** The request is written within so many ms of the call of `claim`, or not at all. */
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
      /** Milliseconds from now: by then the service's lists show whether it took effect. */
      readonly conclusiveInMs: number;
    }
  /** Provably not carried out: nothing was written, or the service refused (429, 401 or 403). */
  | { readonly state: 'queued'; readonly error: string; readonly retryInMs: number };

/** The submissions of one account, for its owner; every write is fenced. @throws LeaseLost, DatabaseUnavailable */
export interface SubmissionStore {
  /**
   * The oldest queued ones that may be tried now, by ID: at most `limit` of each operation, so that the oldest
   * `limit` of each rate group are among them. None while the installation is on hold: queued ones become `held`.
   */
  queued(limit: number): Promise<readonly QueuedSubmission[]>;
  /**
   * `queued` → `sending`, committed before this resolves. Undefined, and then not to be sent: it is no longer queued,
   * its last attempt is not finished, or the installation is on hold. Nor may anything be sent when it throws: the
   * store puts back what it may have claimed.
   */
  claim(id: string): Promise<ClaimedSubmission | undefined>;
  /**
   * Writes the outcome of a claimed one, and hints for the rows that the answer names, in one transaction. The caller
   * repeats it while the database is away; until it is done the submission can't be claimed again. It also replaces
   * the `unknown` that `recover` may have written meanwhile; any other state stays.
   */
  finish(id: string, outcome: SubmissionOutcome): Promise<void>;
  /**
   * Makes `unknown` what an earlier owner left `sending`, once its request must be over.
   * @param timeoutMs the longest that a request may take after it was written
   * @param inHand those under way here, whose outcome this process will write
   * @returns milliseconds until the next one is due; undefined: none is left
   */
  recover(timeoutMs: number, inHand: readonly string[]): Promise<number | undefined>;
}
