import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import type { StoredSubmission } from '../../db/submissions/stored-submissions.ts';
import { OPERATION_NAMES, type OperationName } from '../../model/submission.ts';
import { OPERATIONS } from '../../submit/operations.ts';

/** How many are sent before it, since they came earlier and share its rate limit. */
export async function submissionsBefore(
  db: Db,
  { id, userId, operation }: Pick<StoredSubmission, 'id' | 'userId' | 'operation'>,
): Promise<number> {
  const own = OPERATIONS[operation as OperationName].group;
  const sharing = OPERATION_NAMES.filter((name) => OPERATIONS[name].group === own);
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
