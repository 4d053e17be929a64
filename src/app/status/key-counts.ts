import type { Db } from '../../db/connection/db.ts';
import { movedKeys } from '../../db/accounts/account-identity.ts';
import { knownKeys } from '../../db/accounts/api-keys.ts';
import type { KeyCounts } from '../../model/status/status-report.ts';

/**
 * How many of the keys are in which state.
 * @param refusedHere keys that this process knows as refused: of those that have an owner nothing is stored
 */
export async function countKeys(
  db: Db,
  keyHashes: readonly string[],
  refusedHere: ReadonlySet<string>,
): Promise<KeyCounts> {
  const moved = new Set((await movedKeys(db, keyHashes)).map(({ keyHash }) => keyHash));
  const known = new Map((await knownKeys(db, keyHashes)).map((key) => [key.keyHash, key]));
  const counts = { good: 0, refused: 0, moved: 0, unasked: 0 };
  for (const keyHash of keyHashes) {
    const { userId, error } = known.get(keyHash) ?? {};
    if (moved.has(keyHash)) counts.moved += 1;
    else if (error !== undefined || refusedHere.has(keyHash)) counts.refused += 1;
    else if (userId !== undefined) counts.good += 1;
    else counts.unasked += 1;
  }
  return counts;
}
