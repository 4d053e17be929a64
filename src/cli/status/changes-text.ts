import { formatAge, formatCount } from '@research-mirror/runtime/figures';
import type { LatestChange } from '../../model/status/account-details.ts';
import type { WaitingDeletion } from '../../model/status/status-report.ts';
import { printable } from '../terminal/text-table.ts';

/** Rows that look deleted and are still there, one line for each collection and cause. */
export function deletionLine(deletion: WaitingDeletion, now: number): string {
  const { userId, collection, rows, liveRows, since, what, byItself, due, remedy, examples } = deletion;
  const when =
    due === null ? '' : Date.parse(due) > now ? ` (${formatAge(now - Date.parse(due))})` : ' (due)';
  return [
    `${userId}/${collection}: ${formatCount(rows)} of ${formatCount(liveRows)}, missed since ${formatAge(now - Date.parse(since))}: ${what}`,
    `by itself: ${byItself}${when}`,
    ...(remedy === null ? [] : [`do: ${remedy}`]),
    ...(examples.length === 0 ? [] : [`among them ${examples.map(printable).join(', ')}`]),
  ].join('; ');
}

/** One of the latest changes. @param several accounts are mirrored: it is named */
export function changeLine(change: LatestChange, now: number, several: boolean): string {
  const { at, userId, collection, op, key } = change;
  const where = several ? `${userId}/${collection}` : collection;
  return `${formatAge(now - Date.parse(at))}  ${where}  ${printable(key)}  ${op}`;
}
