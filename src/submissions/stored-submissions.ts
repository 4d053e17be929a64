import type { Db } from '../postgres/db.ts';
import { sql } from 'kysely';
import { type Fence, fenced, pruneInBatches } from '../postgres/fenced.ts';
import { SUBMISSION_STATES, type SubmissionState } from '../model/submission.ts';

/** A submission as users see it. Moments are by the database's clock. */
export interface StoredSubmission {
  readonly id: string;
  readonly userId: string;
  /** Any text: a later version of this program may know more operations. */
  readonly operation: string;
  readonly targetId: string | null;
  readonly state: SubmissionState;
  readonly idempotencyKey: string | null;
  readonly responseStatus: number | null;
  /** JSON text with every digit; null: there is none. */
  readonly response: string | null;
  readonly error: string | null;
  readonly createdAt: Date;
  readonly sentAt: Date | null;
  readonly doneAt: Date | null;
  /** When a queued one is tried at the earliest. */
  readonly notBefore: Date | null;
  /** Outcome unknown: from then on the service's lists show whether it took effect. */
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
  filter: { readonly state?: SubmissionState; readonly userId?: string; readonly limit: number },
): Promise<StoredSubmission[]> {
  const { state, userId, limit } = filter;
  const { rows } = await db.sql<StoredSubmission>`
    select ${COLUMNS} from ${db.table('submissions')}
    where ${userId === undefined ? sql`true` : sql`_user_id = ${userId}`}
      and state = any(${state === undefined ? [...SUBMISSION_STATES] : [state]}::text[])
    order by submission_id desc limit ${limit}`;
  return rows;
}

/** The submission of this ID, if any. */
export async function findSubmission(db: Db, id: string): Promise<StoredSubmission | undefined> {
  const { rows } = await db.sql<StoredSubmission>`
    select ${COLUMNS} from ${db.table('submissions')} where submission_id = ${id}`;
  return rows[0];
}

/** How such an explanation begins; any other error of a queued row is the row's own. */
const WAITS = 'waits: ';

/**
 * Why nothing is sent: the account's credits are fewer than `floor` (decimal digits), or not known. Undefined: they
 * suffice.
 */
export async function whyCreditsTooLow(db: Db, userId: string, floor: string): Promise<string | undefined> {
  const { rows } = await db.sql<{ below: boolean | null }>`
    select credits < ${floor}::numeric as below from ${db.table('account')} where _user_id = ${userId}`;
  const below = rows[0]?.below ?? undefined;
  if (below === undefined) {
    return `${WAITS}it is not known how many credits the account has, and MIRROR_CREDITS_FLOOR asks for some (is "account" mirrored?)`;
  }
  return below ? `${WAITS}the account has fewer credits than MIRROR_CREDITS_FLOOR` : undefined;
}

/**
 * Writes into the account's queued submissions why they wait, over an earlier explanation; undefined removes that. A
 * row with an error of its own keeps it.
 */
export async function explainWait(db: Db, fence: Fence, why: string | undefined): Promise<void> {
  const error = why ?? null;
  await fenced(db, fence, async (trx) => {
    await trx.sql`
      update ${trx.table('submissions')} set error = ${error}::text
      where _user_id = ${fence.userId}::bigint and state = 'queued'
        and (error is null or starts_with(error, ${WAITS})) and error is distinct from ${error}::text`;
  });
}

/** An idempotency key is good for this long at least after its submission is done, milliseconds. */
const KEY_KEPT = 400 * 86_400_000;

/**
 * Removes submissions of the account that were done more than `keepMs` ago (MIRROR_LOG_RETENTION), a batch at a time.
 * Those with an idempotency key stay four times as long, and 400 days at least: without its row, a repeated key would
 * be sent again.
 * @param signal ends it after the current batch; the next call goes on
 */
export async function pruneSubmissions(
  db: Db,
  fence: Fence,
  keepMs: number,
  signal: AbortSignal,
): Promise<void> {
  const rows = { table: db.table('submissions'), key: 'submission_id' };
  const doneBefore = (moment: Date) => sql`done_at < ${moment}::timestamptz`;
  await pruneInBatches(
    db,
    fence,
    rows,
    signal,
    (before) => sql`idempotency_key is null and ${doneBefore(before(keepMs))}`,
  );
  await pruneInBatches(db, fence, rows, signal, (before) =>
    doneBefore(before(Math.max(4 * keepMs, KEY_KEPT))),
  );
}
