import { formatCount } from '@research-mirror/runtime/figures';
import type { AccountStatus, CollectionStatus, UpcomingReading } from '../../model/status/status-report.ts';
import type { Schedule } from '../accounts/next-runs.ts';

type Known = Pick<AccountStatus, 'userId' | 'state' | 'owner' | 'walks'> & {
  readonly webhook: Pick<AccountStatus['webhook'], 'hintsDue'>;
  readonly collections: readonly Pick<
    CollectionStatus,
    'collection' | 'state' | 'nextPollAt' | 'nextFullAt' | 'dueLists'
  >[];
};

interface Run extends UpcomingReading {
  readonly at: string;
  readonly kind: 'poll' | 'full';
}

/**
 * What is read next of an account, and why: by what is stored, in the order in which readings get their requests
 * (docs/design/plan.md, "Priorities"). What is being read already is left out.
 * @param schedule of this program: another program's cron lines may differ
 * @param now the database's time
 * @returns null where nobody reads the account, or nothing is due at any time
 */
export function whatIsNext(
  account: Known,
  schedule: Pick<Schedule, 'after'>,
  now: Date,
): UpcomingReading | null {
  const { state, owner, webhook } = account;
  if (state !== 'active' || owner === null) return null;
  const mirrored = account.collections.filter((each) => each.state !== 'paused');
  if (mirrored.length === 0) return null;
  if (webhook.hintsDue > 0) {
    const because = `they come before what is scheduled (waiting: ${formatCount(webhook.hintsDue)})`;
    return { what: 'rows that events or answers named', at: null, because };
  }
  const runs = mirrored
    .flatMap((each) => runsOf(account, each, schedule, now))
    .toSorted((a, b) => placeOf(a, now) - placeOf(b, now) || Date.parse(a.at) - Date.parse(b.at));
  const [first] = runs;
  const lists = mirrored.reduce((sum, { dueLists }) => sum + dueLists, 0);
  if (first !== undefined && (isDue(first, now) || lists === 0)) return upcoming(first);
  if (lists === 0) return null;
  const because = `their items have not been read since (waiting: ${formatCount(lists)})`;
  return { what: 'lists that are new or have changed', at: null, because };
}

function isDue({ at }: Run, now: Date): boolean {
  return Date.parse(at) <= now.getTime();
}

/** Of runs that are due, polls have the higher priority, however late a full walk is; others come by their moment. */
function placeOf(run: Run, now: Date): number {
  if (!isDue(run, now)) return 2;
  return run.kind === 'poll' ? 0 : 1;
}

function upcoming({ what, at, because }: Run): UpcomingReading {
  return { what, at, because };
}

function runsOf(
  { userId, walks }: Known,
  { collection, nextPollAt, nextFullAt }: Known['collections'][number],
  schedule: Pick<Schedule, 'after'>,
  now: Date,
): Run[] {
  const kinds = walks.filter((walk) => walk.collection === collection).map(({ kind }) => kind);
  const isRead = { poll: kinds.some((kind) => kind !== 'full'), full: kinds.includes('full') };
  /** Whether the cron line itself says so. */
  const isLine = (at: string, of: 'nextPollAt' | 'nextFullAt'): boolean => {
    const moment = Date.parse(at);
    return schedule.after(userId, collection, new Date(moment - 1))[of]?.getTime() === moment;
  };
  const underWay = (at: string, reading: boolean): boolean => reading && Date.parse(at) <= now.getTime();
  const runs: Run[] = [];
  if (nextPollAt !== null && !underWay(nextPollAt, isRead.poll)) {
    const because = isLine(nextPollAt, 'nextPollAt')
      ? 'its cron line polls it then'
      : 'it changes often enough for a poll before its cron line’s';
    runs.push({ kind: 'poll', what: `poll of ${collection}`, at: nextPollAt, because });
  }
  if (nextFullAt !== null && !underWay(nextFullAt, isRead.full)) {
    const because = isLine(nextFullAt, 'nextFullAt')
      ? 'its cron line reads all of it then, to find deletions'
      : 'all of it is to be read again before its cron line does';
    runs.push({ kind: 'full', what: `full walk of ${collection}`, at: nextFullAt, because });
  }
  return runs;
}
