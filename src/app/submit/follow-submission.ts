import { sql } from 'kysely';
import type { Db } from '../../db/connection/db.ts';
import { findSubmission, type StoredSubmission } from '../../db/submissions/stored-submissions.ts';
import { OPERATION_NAMES, type OperationName, type SubmissionState } from '../../model/submission.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { OPERATIONS } from '../../submit/operations.ts';

/** How far a submission is. */
export interface SubmitProgress {
  readonly submission: StoredSubmission;
  /** How many submissions are sent before it; 0 unless it is queued. */
  readonly before: number;
}

export interface Following {
  readonly db: Db;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: SubmitProgress) => void;
}

export interface SubmitResult {
  readonly submission: StoredSubmission;
  /** Why it has not ended, where it was waited for; undefined: it has ended, or is on hold. */
  readonly stuck: string | undefined;
}

/** How often (ms) the row is looked at. */
const LOOK_MS = 250;

/** States that end by themselves. `held` does not: somebody has to release the submission. */
const PASSING: ReadonlySet<SubmissionState> = new Set<SubmissionState>(['queued', 'sending']);

export function isFinal({ state }: StoredSubmission): boolean {
  return !PASSING.has(state);
}

/**
 * Waits until the submission has ended, or is on hold.
 * @param whyStuck asked after each look: why it does not go on; undefined: it does. Left out: it is sent alone
 * @throws the signal's reason; RangeError where it is gone: its time of retention is over, or somebody deleted it
 */
export async function followSubmission(
  id: string,
  { db, clock, signal, onProgress }: Following,
  whyStuck?: (userId: string) => Promise<string | undefined>,
): Promise<SubmitResult> {
  for (;;) {
    const submission = await presentSubmission(db, id);
    if (isFinal(submission)) return { submission, stuck: undefined };
    const hasOthers = submission.state === 'queued' && whyStuck !== undefined;
    onProgress({ submission, before: hasOthers ? await submissionsBefore(db, submission) : 0 });
    const stuck = await whyStuck?.(submission.userId);
    if (stuck !== undefined) {
      const last = await presentSubmission(db, id);
      return { submission: last, stuck: isFinal(last) ? undefined : stuck };
    }
    await clock.sleep(LOOK_MS, signal);
  }
}

export async function presentSubmission(db: Db, id: string): Promise<StoredSubmission> {
  const submission = await findSubmission(db, id);
  if (submission === undefined) throw new RangeError(`submission ${id} is not there any more`);
  return submission;
}

/** How many submissions are sent before it: they were queued earlier and share its rate limit. */
async function submissionsBefore(
  db: Db,
  { id, userId, operation }: Pick<StoredSubmission, 'id' | 'userId' | 'operation'>,
): Promise<number> {
  const { group } = OPERATIONS[operation as OperationName];
  const sharing = OPERATION_NAMES.filter((name) => OPERATIONS[name].group === group);
  const { before } = await db.mirror
    .selectFrom('submissions')
    .select(sql<string>`count(*)`.as('before'))
    .where('_user_id', '=', userId)
    .where('state', 'in', ['queued', 'sending'])
    .where('operation', 'in', sharing)
    .where('submission_id', '<', id)
    .executeTakeFirstOrThrow();
  return Number(before);
}
