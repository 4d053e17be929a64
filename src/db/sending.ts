import { sql, type Kysely } from 'kysely';
import { isStoredDatabase } from './fingerprint.ts';

/** After so long without a daemon, what is queued may have been sent by the database's original. Milliseconds. */
export const LONGEST_GAP = 600_000;

/**
 * Whether a submission may be sent, in the fenced transaction that is to claim it: this is the database that was looked
 * at last (its server and timeline are the fence's matter), and a daemon has kept it company since.
 * @throws RangeError where nobody has opened the installation: whoever sends has to
 */
export async function maySend(trx: Kysely<unknown>, schema: string, now: Date): Promise<boolean> {
  const { rows } = await sql<{ same: boolean; alive_at: Date | null }>`
    select ${isStoredDatabase(schema)} as same,
      alive_at
    from ${sql.id(`${schema}_sync`, 'installation')}`.execute(trx);
  const [row] = rows;
  if (row === undefined) throw new RangeError('openInstallation comes before the first submission');
  return row.same && row.alive_at !== null && row.alive_at.getTime() > now.getTime() - LONGEST_GAP;
}
