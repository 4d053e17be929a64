import type { Db } from '../../db/connection/db.ts';
import type { MissingRow } from '../../model/absence.ts';
import type { Scope } from '../../model/collections.ts';
import { liveRows } from '../rows/live-rows.ts';

/**
 * Missing rows that one observation reports at most, the first in key order, so that memory stays bounded. The next
 * observation reports the rest: until then these are not suspected.
 */
export const MAX_MISSING = 200_000;

/**
 * Live rows of the scope that a whole walk did not see, in key order, at most `MAX_MISSING`. It reads the scope's
 * keys a batch at a time (a million: bench/mirror/compare-keys.ts).
 */
export async function liveKeysMissing(
  db: Db,
  scope: Scope,
  seen: (key: string) => boolean,
): Promise<MissingRow[]> {
  const missing: MissingRow[] = [];
  for await (const rows of liveRows(db, scope)) {
    for (const { key, changedAt } of rows) {
      if (!seen(key)) missing.push({ key, changedAt: changedAt.getTime() });
      if (missing.length >= MAX_MISSING) return missing;
    }
  }
  return missing;
}
