import type { Db } from '../connection/db.ts';
import { isStoredDatabase } from './fingerprint.ts';

/** After so long (ms) without a daemon, the original of this database may have sent what is queued. */
export const LONGEST_GAP = 600_000;

/** By pool, the last sign of life that this process has written through it. */
const lastSigns = new WeakMap<Db['kysely'], Date>();

export function noteSignOfLife(db: Db, aliveAt: Date | undefined): void {
  if (aliveAt !== undefined) lastSigns.set(db.kysely, aliveAt);
}

/**
 * Whether the fenced transaction `trx` may claim a submission: the database is the one of the last look (the fence
 * checks server and timeline), there are recent signs of life, and this process's own is there. Where it is not, the
 * next look at the installation records that.
 * @param db the pool of `trx`
 * @throws RangeError where nobody has opened the installation, as every sender must
 */
export async function maySend(trx: Db, db: Db, now: Date): Promise<boolean> {
  const { rows } = await trx.sql<{ same: boolean; alive_at: Date | null }>`
    select ${isStoredDatabase(db)} as same, alive_at from ${db.stateTable('installation')}`;
  const [row] = rows;
  if (row === undefined) throw new RangeError('openInstallation comes before the first submission');
  if (!row.same || row.alive_at === null) return false;
  const last = lastSigns.get(db.kysely);
  if (last !== undefined && row.alive_at < last) return false;
  return row.alive_at.getTime() > now.getTime() - LONGEST_GAP;
}
