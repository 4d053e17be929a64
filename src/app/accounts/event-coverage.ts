import type { Db } from '../../db/connection/db.ts';
import { readEventCoverage } from '../../db/webhook/stored-event-coverage.ts';
import type { AccountStatus, EventCoverage } from '../../model/status-report.ts';
import { stateClass } from '../../model/row-state.ts';

/** Accounts that one call counts for: each takes three statements, some hundred milliseconds, and scrapers give up. */
export const COUNTED_AT_ONCE = 10;
/** Pages and scrapes that ask more often (ms) get what was counted last. */
const GOOD_FOR_MS = 60_000;

interface Counted {
  /** By the database's clock. */
  readonly at: number;
  readonly changes: EventCoverage | undefined;
}

/** What was counted last, for as long as its connections are open. */
const lastCounts = new WeakMap<Db, Map<string, Counted>>();

/**
 * By account, for those with a webhook: how many changes it announced, and how many polls found first. Where there are
 * many, those counted longest ago come first, and the others are told as they were counted last.
 * @param now the database's time
 */
export async function eventCoverage(
  accounts: readonly AccountStatus[],
  db: Db,
  now: Date,
): Promise<ReadonlyMap<string, EventCoverage>> {
  const counted = lastCounts.get(db) ?? new Map<string, Counted>();
  lastCounts.set(db, counted);
  const users = accounts.filter(({ webhook }) => webhook.state !== 'none').map(({ userId }) => userId);
  const countedAt = (userId: string): number => counted.get(userId)?.at ?? Number.NEGATIVE_INFINITY;
  const due = users
    .filter((userId) => now.getTime() - countedAt(userId) >= GOOD_FOR_MS)
    .toSorted((a, b) => compare(countedAt(a), countedAt(b)))
    .slice(0, COUNTED_AT_ONCE);
  for (const userId of due) {
    const changes = await readEventCoverage(db, userId, isFinished);
    counted.set(userId, { at: now.getTime(), changes });
  }
  return new Map(
    users.flatMap((userId) => {
      const changes = counted.get(userId)?.changes;
      return changes === undefined ? [] : [[userId, changes] as const];
    }),
  );
}

/** By subtraction two infinities would be no number. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Whether a row's state, in the service's words, is final. */
export function isFinished(state: string): boolean {
  return stateClass(state) !== 'open';
}
