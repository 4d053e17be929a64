import type { Db } from '../../db/connection/db.ts';
import { readEventCoverage } from '../../db/webhook/stored-event-coverage.ts';
import type { AccountStatus, EventCoverage } from '../../model/status/status-report.ts';
import { stateClass } from '../../model/row-state.ts';

/** Accounts counted by one call: each takes some hundred milliseconds, and scrapers of metrics do not wait long. */
export const COUNTED_AT_ONCE = 10;
/** For how long (ms) a count is given out again. */
const GOOD_FOR_MS = 60_000;

interface Counted {
  /** By the database's clock. */
  readonly at: number;
  readonly changes: EventCoverage | undefined;
}

/** The last counts, for as long as the database is open. */
const lastCounts = new WeakMap<Db['kysely'], Map<string, Counted>>();

/**
 * By account, for those with a webhook: how many changes its events announced, and how many polls found first. Of
 * many accounts, those with the oldest count are counted anew; the others keep theirs.
 * @param now the database's time
 */
export async function eventCoverage(
  accounts: readonly Pick<AccountStatus, 'userId' | 'webhook'>[],
  db: Db,
  now: Date,
): Promise<ReadonlyMap<string, EventCoverage>> {
  const counted = lastCounts.get(db.kysely) ?? new Map<string, Counted>();
  lastCounts.set(db.kysely, counted);
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

/** The difference of two infinities would be NaN. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Whether a row's state, in the service's words, is final. */
export function isFinished(state: string): boolean {
  return stateClass(state) !== 'open';
}
