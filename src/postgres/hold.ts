import type { DatabaseWentBack } from '../model/errors.ts';
import { commitDurably, databaseTime, type Db, onlyRow } from './db.ts';
import type { Fence } from './fenced.ts';
import type { KnownNodes } from './fingerprint.ts';
import { logAct, type Operator } from './operator-log.ts';

/** While it lasts, submissions queued before it are not sent, and no webhook is taken over. */
export type Hold = Readonly<{ since: Date; why: string }>;

/** The row `installation`. */
export interface InstallationRow {
  readonly fingerprint: unknown;
  readonly nodes: KnownNodes;
  readonly alive_at: Date | null;
  readonly held_at: Date | null;
  readonly held_why: string | null;
}

type HeldRow = Pick<InstallationRow, 'held_at' | 'held_why'>;

/** Locks the row `installation`, after creating it if needed. Call before locking accounts, as signs of life do. */
export async function lockInstallation(trx: Db): Promise<InstallationRow & { readonly now: Date }> {
  const now = await databaseTime(trx);
  await trx.sql`insert into ${trx.stateTable('installation')} (created_at) values (${now}) on conflict do nothing`;
  const found = await trx.sql<InstallationRow>`
    select fingerprint, nodes, alive_at, held_at, held_why from ${trx.stateTable('installation')} for update`;
  return { now, ...onlyRow(found) };
}

export async function currentHold(db: Db): Promise<Hold | undefined> {
  const { rows } = await db.sql<HeldRow>`
    select held_at, held_why from ${db.stateTable('installation')}`;
  return rows[0] && onHold(rows[0]);
}

/** Ends the hold: submissions on hold are queued again. @returns how many */
export async function releaseSubmissions(db: Db, by: Operator): Promise<number> {
  return db.transaction(async (trx) => {
    await commitDurably(trx);
    const now = await databaseTime(trx);
    // Waits for the lock of a transaction that moves submissions to `held`.
    await trx.sql`
      update ${trx.stateTable('installation')} set held_at = null, held_why = null, alive_at = greatest(alive_at, ${now}::timestamptz)
      where singleton`;
    let released = 0;
    for (const userId of await accountsIn(trx, 'held')) {
      released += await move(trx, userId, 'held', 'queued');
    }
    await logAct(trx, by, { act: 'submissions release', given: { released } });
    return released;
  });
}

/** The current hold, if any. With a reason, makes one: queued submissions, which may have been sent, become `held`. */
export async function holdFor(trx: Db, row: HeldRow, now: Date, why?: string): Promise<Hold | undefined> {
  const present = onHold(row);
  if (why === undefined) return present;
  if (present === undefined) {
    await trx.sql`
      update ${trx.stateTable('installation')} set held_at = ${now}, held_why = ${why} where singleton`;
  }
  for (const userId of await accountsIn(trx, 'queued')) {
    await move(trx, userId, 'queued', 'held');
  }
  return present ?? { since: now, why };
}

function onHold(row: HeldRow): Hold | undefined {
  return row.held_at === null ? undefined : { since: row.held_at, why: row.held_why ?? '' };
}

async function accountsIn(trx: Db, state: 'queued' | 'held'): Promise<string[]> {
  const { rows } = await trx.sql<{ userId: string }>`
    select distinct _user_id as "userId" from ${trx.table('submissions')} where state = ${state} order by 1`;
  return rows.map(({ userId }) => userId);
}

async function move(trx: Db, userId: string, from: string, to: 'queued' | 'held'): Promise<number> {
  const { numAffectedRows } = await trx.sql`
    update ${trx.table('submissions')} set state = ${to} where _user_id = ${userId}::bigint and state = ${from}`;
  return Number(numAffectedRows ?? 0);
}

/** Lead of the floor of change IDs over the clock, microseconds: another server's clock may be behind. */
const FLOOR_MARGIN = 60_000_000n;

/**
 * Records that the database went back, in the transaction that notices it. All accounts lose their owners, whose memory
 * is wrong, and are reread when they are opened (recheck.ts). Change IDs continue above all that may have been used.
 * Consumers find a row in `recoveries`.
 */
export async function markRecovery(
  trx: Db,
  { now, alive_at: aliveAt }: { readonly now: Date; readonly alive_at: Date | null },
  reason: string,
): Promise<void> {
  await commitDurably(trx);
  const { rows } = await trx.sql<{ userId: string }>`
    select _user_id as "userId" from ${trx.stateTable('account')}`;
  const userIds = rows.map(({ userId }) => userId);
  // First: it waits for an owner's transaction, and no other can begin after it.
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

/** Records that an owner lost commits. Does nothing if a recovery was recorded since the owner began. */
export async function recordRecovery(db: Db, fence: Fence, { message }: DatabaseWentBack): Promise<void> {
  await db.transaction(async (trx) => {
    const row = await lockInstallation(trx);
    const known = fence.ownership?.installation?.recovery ?? null;
    // Later, not just different: the recovery that this owner knows may be lost as well.
    const marks = await trx.sql`
      select from ${trx.table('recoveries')}
      where detected_at > coalesce(${known}::timestamptz, '-infinity')`;
    if (marks.rows.length > 0) return;
    await markRecovery(trx, row, message);
    // Claims may be lost, so queued submissions may have been sent.
    await holdFor(trx, row, row.now, message);
  });
}
