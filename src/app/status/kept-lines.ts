import { formatCount, formatSpan } from '@research-mirror/runtime/figures';
import { READS } from '../../budget/rate-groups.ts';
import { collection, type CollectionName, parentsOf } from '../../model/collections.ts';
import type { AccountStatus } from '../../model/status/status-report.ts';
import type { Schedule } from '../../schedule/next-runs.ts';

/** What a cron line asks for: so many readings, one request each at least, in each of its intervals (ms). */
export interface Line {
  readonly name: CollectionName;
  readonly readings: number;
  readonly everyMs: number;
}

/**
 * How often (ms) lines can be kept that ask for more than the rate allows. Polls go before lists: where the rate is too
 * small for them they all come less often, and lists get nothing.
 * @returns those that can't be kept; Infinity: not at all
 */
export function intervalsKept(
  polls: readonly Line[],
  lists: readonly Line[],
  perMinute: number,
): ReadonlyMap<CollectionName, number> {
  const kept = new Map<CollectionName, number>();
  let left = perMinute / 60_000;
  for (const lines of [polls, lists]) {
    const asked = lines.reduce((sum, { readings, everyMs }) => sum + readings / everyMs, 0);
    if (asked > left) for (const { name, everyMs } of lines) kept.set(name, (everyMs * asked) / left);
    left = Math.max(0, left - asked);
  }
  return kept;
}

/** On lines of the account that its rate can't keep, where the rate is known. */
export function linesNotKept(
  { userId, collections, budgets, state }: AccountStatus,
  schedule: Pick<Schedule, 'of'>,
  now: Date,
): string[] {
  // One key is used at a time.
  const perMinute = Math.max(
    0,
    ...budgets.flatMap(({ groups }) => groups.flatMap(({ group, size }) => (group === READS ? [size] : []))),
  );
  if (perMinute === 0 || state !== 'active') return [];
  const next = schedule.of(userId);
  const rowsOf = new Map(collections.map((each) => [each.collection, each.liveRows]));
  const lines = collections.flatMap(({ collection: name, state: its }): (Line & { ofLists: boolean })[] => {
    const first = next(name, now).nextPollAt;
    const second = first && next(name, first).nextPollAt;
    if (!first || !second || its === 'paused') return [];
    const found = collection(name);
    const ofLists = found.kind === 'list' && found.parent !== undefined;
    const readings = ofLists ? (rowsOf.get(parentsOf(found).collection) ?? 0) : 1;
    return [{ name, readings, everyMs: second.getTime() - first.getTime(), ofLists }];
  });
  const kept = intervalsKept(
    lines.filter(({ ofLists }) => !ofLists),
    lines.filter(({ ofLists }) => ofLists),
    perMinute,
  );
  return lines.flatMap(({ name, readings, everyMs, ofLists }) => {
    const ms = kept.get(name);
    if (ms === undefined) return [];
    const what = ofLists ? `each of ${formatCount(readings)} lists is read` : 'it is polled';
    const often = Number.isFinite(ms) ? `every ${formatSpan(ms)} at best` : 'when requests are left over';
    return [
      `${userId}/${name}: ${what} ${often}, not every ${formatSpan(everyMs)} as its line asks: ` +
        `the account has ${formatCount(perMinute)} requests a minute (MIRROR_POLL_CRON)`,
    ];
  });
}
