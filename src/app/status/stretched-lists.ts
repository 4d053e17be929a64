import { formatCount, formatSpan } from '@research-mirror/runtime/figures';
import { rateGroup } from '../../budget/rate-groups.ts';
import type { AccountStatus } from '../../model/status/status-report.ts';
import { LONGEST_MS, unannouncedShare } from '../../plan/change-rate.ts';
import { earlyPolls, type PolledCollection, type PolledLists } from '../../plan/early-polls.ts';
import { type LearntChanges, NOTHING_LEARNT } from '../../plan/learnt-changes.ts';
import { stretchedRun } from '../../plan/stretched-run.ts';
import type { Schedule } from '../accounts/next-runs.ts';

const READS = rateGroup('GET', '/v1/lists/{id}');

/**
 * What `status` says of accounts with more lists than their cron line can read, and which of them are read next. Only
 * of accounts that this program runs: of others it does not know the budget.
 * @param learnt of each collection's readings, by account and collection (`42/lists`); of lists, the sum of all. `need`:
 *   Σ √(k·λ)
 * @param now the database's time
 */
export function notesOnStretchedLists(
  accounts: readonly Pick<AccountStatus, 'userId' | 'collections' | 'budgets'>[],
  schedule: Pick<Schedule, 'after'>,
  learnt: ReadonlyMap<string, LearntChanges & { readonly need: number }>,
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
    const ofLists = learnt.get(`${userId}/list_items`);
    const requests = Math.max(lists, ofLists?.cost ?? 0);
    const need = ofLists === undefined ? undefined : ofLists.need * Math.sqrt(unannouncedShare(ofLists));
    const polled = mirrored
      .filter(({ collection }) => collection !== 'list_items')
      .map(({ collection }) => ({
        learnt: learnt.get(`${userId}/${collection}`) ?? NOTHING_LEARNT,
        lineMs: lineOf(collection) ?? Number.POSITIVE_INFINITY,
      }));
    const polls = requestsOfPolls(polled, { requests, lineMs, need }, perMinute);
    const takes = stretchedRun({ requests, lineMs, perMinute, ...polls });
    if (takes === undefined) return [];
    return [
      `${userId}/list_items: each of ${formatCount(lists)} lists is read every ${formatSpan(takes)} on average, not every ` +
        `${formatSpan(lineMs)}, because the account has ${perMinute} requests a minute, of which polls of other collections take ` +
        `${formatCount(Math.ceil(polls.linesPerMinute + polls.earlyPerMinute))}. ${ORDER[takes > LONGEST_MS ? 'late' : 'kept']}`,
    ];
  });
}

const ORDER = {
  kept: `Next are lists that have changed, then new ones, then those likely to have changed; each is read within ${formatSpan(LONGEST_MS)}`,
  late: `Next are mostly those that were read longest ago, since ${formatSpan(LONGEST_MS)} does not suffice for all; in between those that have changed`,
} as const;

/** Requests a minute that polls take: those of the cron lines, and those between their runs. */
function requestsOfPolls(
  polled: readonly PolledCollection[],
  lists: PolledLists,
  perMinute: number,
): { readonly linesPerMinute: number; readonly earlyPerMinute: number } {
  const early = earlyPolls(polled, lists, { perMinute, readsBelow: false });
  let linesPerMinute = 0;
  let earlyPerMinute = 0;
  polled.forEach(({ learnt, lineMs }, index) => {
    const cost = 60_000 * Math.max(1, learnt.cost);
    linesPerMinute += cost / lineMs;
    earlyPerMinute += Math.max(0, cost / (early[index] ?? lineMs) - cost / lineMs);
  });
  return { linesPerMinute, earlyPerMinute };
}
