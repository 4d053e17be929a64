import { sql } from 'kysely';
import { SUBMISSION_STATES, type SubmissionState } from '../model/submission.ts';
import type { Db } from '../postgres/db.ts';
import { type Fence, fenced, pruneInBatches } from '../postgres/fenced.ts';

/** A submission as users see it. Moments are by the database's clock. */
export interface StoredSubmission {
  readonly id: string;
  readonly userId: string;
  /** Any text: a later version of this program may have more operations. */
  readonly operation: string;
  readonly targetId: string | null;
  readonly state: SubmissionState;
  readonly idempotencyKey: string | null;
  readonly responseStatus: number | null;
  /** JSON text with every digit. */
  readonly response: string | null;
  readonly error: string | null;
  readonly createdAt: Date;
  readonly sentAt: Date | null;
  readonly doneAt: Date | null;
  /** Earliest next attempt of a queued one. */
  readonly notBefore: Date | null;
  /** When the service's lists show whether one of unknown outcome took effect. */
  readonly conclusiveAt: Date | null;
}

const COLUMNS = sql`
  submission_id as id, _user_id as "userId", operation, target_id as "targetId", state,
  idempotency_key as "idempotencyKey", response_status as "responseStatus",
  coalesce(_verbatim, response::text) as response, error, created_at as "createdAt", sent_at as "sentAt",
  done_at as "doneAt", _not_before as "notBefore", _conclusive_at as "conclusiveAt"`;

/** The newest submissions first. */
export async function listSubmissions(
  db: Db,
  { state, userId, limit }: { state?: SubmissionState; userId?: string; limit: number },
): Promise<StoredSubmission[]> {
  const { rows } = await db.sql<StoredSubmission>`
    select ${COLUMNS} from ${db.table('submissions')}
    where ${userId === undefined ? sql`true` : sql`_user_id = ${userId}`}
      and state = any(${state === undefined ? [...SUBMISSION_STATES] : [state]}::text[])
    order by submission_id desc limit ${limit}`;
  return rows;
}

export async function findSubmission(db: Db, id: string): Promise<StoredSubmission | undefined> {
  const { rows } = await db.sql<StoredSubmission>`
    select ${COLUMNS} from ${db.table('submissions')} where submission_id = ${id}`;
  return rows[0];
}

/** Beginning of an explanation why rows wait; any other error of a queued row is its own. */
const WAITS = 'waits: ';

/** Why the account's credits let nothing be sent: unknown, or fewer than `floor` (digits). Undefined: they suffice. */
export async function whyCreditsTooLow(db: Db, userId: string, floor: string): Promise<string | undefined> {
  const { rows } = await db.sql<{ below: boolean | null }>`
    select credits < ${floor}::numeric as below from ${db.table('account')} where _user_id = ${userId}`;
  const below = rows[0]?.below ?? undefined;
  if (below === undefined) {
    return `${WAITS}MIRROR_CREDITS_FLOOR is set, but the account’s credits are not known. Check that "account" is mirrored`;
  }
  return below ? `${WAITS}the account has fewer credits than MIRROR_CREDITS_FLOOR` : undefined;
}

/** Writes into the account's queued submissions why they wait; undefined clears that. A row's own error stays. */
export async function explainWait(db: Db, fence: Fence, why: string | undefined): Promise<void> {
  const error = why ?? null;
  await fenced(db, fence, async (trx) => {
    await trx.sql`
      update ${trx.table('submissions')} set error = ${error}::text
      where _user_id = ${fence.userId}::bigint and state = 'queued'
        and (error is null or starts_with(error, ${WAITS})) and error is distinct from ${error}::text`;
  });
}

/** Shortest time for which an idempotency key counts after its submission is done, ms. */
const KEY_KEPT_MS = 400 * 86_400_000;

/**
 * Removes submissions of the account that were done more than `retentionMs` ago (MIRROR_LOG_RETENTION), a batch at a
 * time. Those with an idempotency key stay four times as long, and at least 400 days: without its row, a repeated key
 * would be sent again.
 * @param signal ends it after the current batch; the next call goes on
 */
export async function pruneSubmissions(db: Db, fence: Fence, retentionMs: number, signal: AbortSignal): Promise<void> {
  const rows = { table: db.table('submissions'), key: 'submission_id' };
  const doneBefore = (moment: Date) => sql`done_at < ${moment}::timestamptz`;
  const withoutKey = (moment: Date) => sql`idempotency_key is null and ${doneBefore(moment)}`;
  const keyRetentionMs = Math.max(4 * retentionMs, KEY_KEPT_MS);
  await pruneInBatches(db, fence, rows, signal, (before) => withoutKey(before(retentionMs)));
  await pruneInBatches(db, fence, rows, signal, (before) => doneBefore(before(keyRetentionMs)));
}
