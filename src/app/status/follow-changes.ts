import type { Clock } from '@research-mirror/runtime/clock';
import type { Db } from '../../db/connection/db.ts';
import { latestMarks, readLatestChanges } from '../../db/status/latest-changes.ts';
import type { LatestChange } from '../../model/status/latest-change.ts';

/** While rows change all the time, they are asked for no more often (ms). */
const EVERY_MS = 3_000;
/** Asked anew after so long (ms) even where no account has a new change ID: rows may have been forgotten on request. */
const ANEW_MS = 60_000;

/**
 * The latest changes for a page that is open: where no account has changed, that costs one look at the accounts. Asks
 * one at a time.
 */
export function followChanges(clock: Pick<Clock, 'monotonic'>): (db: Db) => Promise<readonly LatestChange[]> {
  let last:
    | { readonly found: readonly LatestChange[]; readonly seen: string; readonly at: number }
    | undefined;
  let underWay: Promise<readonly LatestChange[]> | undefined;
  const ask = async (db: Db): Promise<readonly LatestChange[]> => {
    const at = clock.monotonic();
    const age = last === undefined ? Infinity : at - last.at;
    if (last !== undefined && age < EVERY_MS) return last.found;
    const marks = await latestMarks(db);
    const seen = JSON.stringify(marks);
    if (last !== undefined && last.seen === seen && age < ANEW_MS) return last.found;
    const found = await db.snapshot((trx) => readLatestChanges(trx, marks, age < ANEW_MS ? last?.found : []));
    last = { found, seen, at };
    return found;
  };
  return (db) => {
    underWay ??= ask(db).finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}
