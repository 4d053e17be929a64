import { type Db, onlyRow } from '../connection/db.ts';
import { databaseTime } from '../connection/database-time.ts';
import { withNode } from '../connection/server-node.ts';
import { observeFingerprint } from './fingerprint.ts';
import { holdFor, type HoldRow } from './hold.ts';
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
  const found = await trx.sql<HoldRow & { alive_at: Date | null }>`
    select alive_at, held_at, held_why from ${trx.stateTable('installation')} for update`;
  const row = onlyRow(found);
  await markRecovery(trx, { now, reason: COPIED, aliveAt: row.alive_at });
  const fingerprint = await observeFingerprint(trx, host);
  const nodes = withNode({}, `${fingerprint.system ?? ''}/${fingerprint.timeline ?? ''}`);
  await trx.sql`
    update ${trx.stateTable('installation')}
    set fingerprint = ${JSON.stringify(fingerprint)}::text::jsonb, nodes = ${JSON.stringify(nodes)}::text::jsonb
    where singleton`;
  await holdFor(trx, row, now, COPIED);
}
