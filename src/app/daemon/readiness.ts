import type { Db } from '../../db/connection/db.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { formatSpan } from '@research-mirror/runtime/figures';
import type { Ready } from '../../status/answers.ts';

export const READ_ONLY =
  'the database is read-only (a standby, or default_transaction_read_only): DATABASE_URL must lead to one that can be written';

export interface ReadinessSources {
  readonly db: Db;
  /** Monotonic moment until which the last heartbeat is valid; each heartbeat is a committed write. */
  readonly ownsUntil: () => number;
  readonly clock: Clock;
}

/**
 * Whether the database takes writes. One that answers queries may still refuse them: after a failover the address may
 * lead to a standby, the disk may be full, the schema may be gone.
 * @throws where the database does not answer
 */
export async function readiness({ db, ownsUntil, clock }: ReadinessSources): Promise<Ready> {
  const { rows } = await db.sql<{ refuses: boolean }>`
    select current_setting('transaction_read_only')::boolean as refuses`;
  if (rows[0]?.refuses === true) {
    return { ok: false, why: READ_ONLY };
  }
  const late = clock.monotonic() - ownsUntil();
  if (late === Infinity)
    return { ok: false, why: 'the daemon is starting: it has not written to the database yet' };
  if (late > 0) {
    return {
      ok: false,
      why: `the database takes no heartbeat: the last one ran out ${formatSpan(late)} ago (see the log)`,
    };
  }
  return { ok: true };
}
