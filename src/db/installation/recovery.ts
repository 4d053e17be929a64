import { commitDurably, type Db } from '../connection/db.ts';
import type { DatabaseWentBack } from '../../model/errors.ts';
import type { Fence } from '../../model/fence.ts';
import { recoveryKnownTo } from '../ownership/fenced.ts';
import { holdFor, lockInstallation } from './hold.ts';

/** By how much the floor of change IDs rises above the clock, microseconds: a new server's clock may be behind. */
const FLOOR_MARGIN = 60_000_000n;

/**
 * Records that the database went back, in the transaction that notices it. All accounts lose their owners, whose
 * memory is wrong; change IDs go on above all that may have been used; whoever opens an account next reads it again
 * (recheck.ts); and consumers find a row in `recoveries`.
 */
export async function markRecovery(
  trx: Db,
  { now, alive_at: aliveAt }: { readonly now: Date; readonly alive_at: Date | null },
  reason: string,
): Promise<void> {
  await commitDurably(trx);
  const accounts = await trx.state.selectFrom('account').select('_user_id').execute();
  const userIds = accounts.map(({ _user_id }) => _user_id);
  // First: this waits for an owner's transaction, and none can begin after.
  await trx.sql`
    update ${trx.stateTable('account')} set token = token + 1, owner = null, recheck = true
    where _user_id = any(${userIds}::bigint[])`;
  const micros = BigInt(now.getTime()) * 1000n;
  await trx.sql`
    update ${trx.stateTable('installation')}
    set change_floor = greatest(change_floor, ${String(micros)}::bigint) + ${String(FLOOR_MARGIN)}::bigint
    where singleton`;
  await trx.sql`
    insert into ${trx.table('recoveries')} (detected_at, reason, last_sign_of_life)
    values (${now}::timestamptz, ${reason}, ${aliveAt}::timestamptz) on conflict (detected_at) do nothing`;
}

/**
 * Records that an owner has found commits of its own to be gone. Does nothing where that was recorded since the owner
 * began: all accounts are read again then.
 */
export async function recordRecovery(db: Db, fence: Fence, { message }: DatabaseWentBack): Promise<void> {
  await db.transaction(async (trx) => {
    const row = await lockInstallation(trx);
    // A later one, and not just another one: the one that this owner knows may be lost, too.
    const marks = await trx.sql`
      select from ${trx.table('recoveries')}
      where detected_at > coalesce(${recoveryKnownTo(fence)}::timestamptz, '-infinity')`;
    if (marks.rows.length > 0) return;
    await markRecovery(trx, row, message);
    // Claims may be among the lost commits: what is queued may have been sent.
    await holdFor(trx, row, row.now, message);
  });
}
