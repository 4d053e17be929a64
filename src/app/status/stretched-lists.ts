import { formatCount, formatSpan } from '@research-mirror/runtime/figures';
import { rateGroup } from '../../budget/rate-groups.ts';
import type { AccountStatus } from '../../model/status/status-report.ts';
import { LONGEST_MS } from '../../plan/change-rate.ts';
import { stretchedRun } from '../../plan/stretched-run.ts';
import type { Schedule } from '../accounts/next-runs.ts';

const READS = rateGroup('GET', '/v1/lists/{id}');

/**
 * What `status` says of accounts with more lists than their cron line can read, and which of them are read next. Only
 * of accounts that this program runs: of others it does not know the budget.
 * @param now the database's time
 */
export function notesOnStretchedLists(
  accounts: readonly Pick<AccountStatus, 'userId' | 'collections' | 'budgets'>[],
  schedule: Pick<Schedule, 'after'>,
  now: Date,
): string[] {
  return accounts.flatMap(({ userId, collections, budgets }) => {
    const sizes = budgets.flatMap(({ groups }) =>
      groups.flatMap(({ group, size }) => (group === READS ? [size] : [])),
    );
    const mirrored = collections.filter(({ state }) => state !== 'paused');
    const lists = mirrored.find(({ collection }) => collection === 'lists')?.liveRows ?? 0;
    const perMinute = Math.max(0, ...sizes);
    if (perMinute === 0 || !mirrored.some(({ collection }) => collection === 'list_items')) return [];
    const lineOf = (name: Parameters<Schedule['after']>[1]): number | undefined => {
      const first = schedule.after(userId, name, now).nextPollAt;
      const second = first === null ? null : schedule.after(userId, name, first).nextPollAt;
      return first === null || second === null ? undefined : second.getTime() - first.getTime();
    };
    const lineMs = lineOf('list_items');
    if (lineMs === undefined) return [];
    const pollsPerMinute = mirrored
      .filter(({ collection }) => collection !== 'list_items')
      .reduce((sum, { collection }) => sum + 60_000 / (lineOf(collection) ?? Number.POSITIVE_INFINITY), 0);
    const takes = stretchedRun({ lists, lineMs, perMinute, pollsPerMinute });
    if (takes === undefined) return [];
    return [
      `${userId}/list_items: each of ${formatCount(lists)} lists is read every ${formatSpan(takes)} on average, not every ` +
        `${formatSpan(lineMs)}, because the account has ${perMinute} requests a minute. Next are lists that have ` +
        `changed, then new ones, then those likely to have changed, each within ${formatSpan(LONGEST_MS)} where that can be done`,
    ];
  });
}
