import type { Db } from '../connection/db.ts';
import { isStoredDatabase } from './fingerprint.ts';

/** After so long without a daemon, what is queued may have been sent by the database's original. Milliseconds. */
export const LONGEST_GAP = 600_000;

/** The last sign of life that a process has written, by the pool that it writes through. */
const lastSigns = new WeakMap<Db['kysely'], Date>();

export function noteSignOfLife(db: Db, aliveAt: Date | undefined): void {
  if (aliveAt !== undefined) lastSigns.set(db.kysely, aliveAt);
}

/**
 * Whether a submission may be sent, in the fenced transaction that is to claim it: this is the database that was looked
 * at last (its server and timeline are the fence's matter), a daemon has kept it company since, and what this process
 * wrote of that is there. (Where it is not, the next look at the installation makes it known.)
 * @param db the pool of `trx`
 * @throws RangeError where nobody has opened the installation: whoever sends has to
 */
export async function maySend(trx: Db, db: Db, now: Date): Promise<boolean> {
  const { rows } = await trx.sql<{ same: boolean; alive_at: Date | null }>`
    select ${isStoredDatabase(db.schema)} as same,
      alive_at
    from ${db.stateTable('installation')}`;
  const [row] = rows;
  if (row === undefined) throw new RangeError('openInstallation comes before the first submission');
  if (!row.same || row.alive_at === null) return false;
  const last = lastSigns.get(db.kysely);
  if (last !== undefined && row.alive_at < last) return false;
  return row.alive_at.getTime() > now.getTime() - LONGEST_GAP;
}
