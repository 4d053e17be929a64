import type { StoredSubmission } from '../../db/submissions/stored-submissions.ts';
import { minute } from './submit-text.ts';
import { formatTable } from '../terminal/text-table.ts';

export function describeSubmissions(
  submissions: readonly StoredSubmission[],
  width: number | undefined,
): string {
  return formatTable(
    [
      { title: 'id', align: 'right' },
      { title: 'account', align: 'right' },
      { title: 'operation', align: 'left' },
      { title: 'target', align: 'left' },
      { title: 'state', align: 'left' },
      { title: 'status', align: 'right' },
      { title: 'queued (UTC)', align: 'left' },
      { title: 'ended', align: 'left' },
      { title: 'key', align: 'left' },
      { title: 'why', align: 'left' },
    ],
    submissions.map((each) => [
      each.id,
      each.userId,
      each.operation,
      each.targetId ?? '',
      each.state,
      each.responseStatus === null ? '' : String(each.responseStatus),
      minute(each.createdAt),
      each.doneAt === null ? '' : minute(each.doneAt),
      each.idempotencyKey ?? '',
      each.error ?? '',
    ]),
    width,
  );
}
