import { type Db, onlyRow } from '../connection/db.ts';
import { databaseTime } from '../connection/database-time.ts';
import { withNode } from '../connection/server-node.ts';
import { observeFingerprint } from './fingerprint.ts';
import { holdFor } from './hold.ts';
import { markRecovery } from './recovery.ts';

/** Why what was queued in the original is not sent. */
const COPIED = 'this mirror is a copy: what was queued may have been sent by the one from which it was taken';

/**
 * Makes rows that were copied another database than the one from which they are, in the transaction that copied them:
 * what opens it finds it on hold, all accounts are read again, and change IDs go on above all that the original may have
 * given since (decision 0009).
 * @param host `endpointHost` of the database's URL
 */
export async function markCopied(trx: Db, host: string | undefined): Promise<void> {
  const now = await databaseTime(trx);
  await trx.sql`insert into ${trx.stateTable('installation')} (created_at) values (${now}) on conflict do nothing`;
  const found = await trx.sql<{ alive_at: Date | null }>`
    select alive_at from ${trx.stateTable('installation')} for update`;
  await markRecovery(trx, { now, reason: COPIED, aliveAt: onlyRow(found).alive_at });
  const fingerprint = await observeFingerprint(trx, host);
  const nodes = withNode({}, `${fingerprint.system ?? ''}/${fingerprint.timeline ?? ''}`);
  await trx.sql`
    update ${trx.stateTable('installation')}
    set fingerprint = ${JSON.stringify(fingerprint)}::text::jsonb, nodes = ${JSON.stringify(nodes)}::text::jsonb
    where singleton`;
  // A hold of its own, whether its original has one or not.
  await holdFor(trx, { held_at: null, held_why: null }, now, COPIED);
}
