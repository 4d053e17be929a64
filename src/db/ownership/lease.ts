import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { AccountRetired } from '../../model/errors.ts';
import type { Fence } from '../../model/fence.ts';
import { AHEAD_MS, hasCome } from './moment-ahead.ts';
import { isDeadHere, type ProcessIdentity } from './process-identity.ts';

/** The result of an attempt to own an account. */
export type TakeResult =
  | { readonly state: 'taken'; readonly fence: Fence }
  /** A living process owns it. */
  | { readonly state: 'owned'; readonly by: Holder };

/** A process that owns accounts, for users. */
export interface Holder {
  readonly processId: string;
  /** `start`, `sync`, … */
  readonly command: string;
  readonly pid: number;
  /** It runs on this machine, so its process ID means something here. */
  readonly here: boolean;
  readonly aliveUntil: Date;
}

/** Makes the account's row, without an owner, where there is none. */
export async function ensureAccount(db: Db, userId: string, now: Date): Promise<void> {
  await db.state
    .insertInto('account')
    .values({ _user_id: userId, created_at: now })
    .onConflict((conflict) => conflict.column('_user_id').doNothing())
    .execute();
}

/** How often to look again: another process may take or release the account between our look and our attempt. */
const ATTEMPTS = 5;

/**
 * Takes the account for `processId` unless a living process owns it (docs/design/ownership.md, "Takeover"): reads the
 * row, then raises its fencing token by compare-and-set. The update waits for a transaction of the old owner that has
 * locked the row: seconds at most, by the transaction's bounds (database.ts). The new owner sees what that commits.
 * @param self this process: it knows at once that an owner on the same machine is dead
 * @throws AccountRetired; RangeError without the account's row; DatabaseUnavailable
 */
export async function takeAccount(
  db: Db,
  userId: string,
  processId: string,
  self: ProcessIdentity,
): Promise<TakeResult> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const account = await db.state
      .selectFrom('account')
      .select(['owner', 'token', 'state'])
      .where('_user_id', '=', userId)
      .executeTakeFirst();
    if (account === undefined) throw new RangeError(`account ${userId} has no row`);
    if (account.state === 'retired') throw new AccountRetired(userId);
    if (account.owner !== null && account.owner !== processId) {
      const by = await livingHolder(db, account.owner, self);
      if (by !== undefined) return { state: 'owned', by };
    }
    const token = (BigInt(account.token) + 1n).toString();
    const taken = await db.state
      .updateTable('account')
      .set({ owner: processId, token })
      .where('_user_id', '=', userId)
      .where('token', '=', account.token)
      .where(sql`owner`, 'is not distinct from', account.owner)
      .returning('token')
      .executeTakeFirst();
    if (taken !== undefined) return { state: 'taken', fence: { userId, owner: processId, token } };
  }
  throw new DatabaseUnavailable(`account ${userId} changes hands too often to be taken`);
}

/** Gives the account up, so that the next owner need not wait; changes nothing where another owns it by now. */
export async function releaseAccount(db: Db, fence: Fence): Promise<void> {
  await db.state
    .updateTable('account')
    .set({ owner: null })
    .where('_user_id', '=', fence.userId)
    .where('owner', '=', fence.owner)
    .where('token', '=', fence.token)
    .execute();
}

/** Accounts that no living process owns. */
export async function freeAccounts(db: Db, self: ProcessIdentity): Promise<readonly string[]> {
  const accounts = await db.state.selectFrom('account').select(['_user_id', 'owner']).execute();
  const owners = new Set(accounts.flatMap(({ owner }) => (owner === null ? [] : [owner])));
  const living = new Set<string>();
  for (const owner of owners) {
    if ((await livingHolder(db, owner, self)) !== undefined) living.add(owner);
  }
  return accounts.filter(({ owner }) => owner === null || !living.has(owner)).map(({ _user_id }) => _user_id);
}

/** The process `processId` if it lives, by its heartbeat and by what this machine knows of it. */
export async function livingHolder(
  db: Db,
  processId: string,
  self: ProcessIdentity,
): Promise<Holder | undefined> {
  const row = await db.state
    .selectFrom('process')
    .select(['command', 'machine', 'pid', 'started_ticks as startedTicks', 'alive_until as aliveUntil'])
    .where('process_id', '=', processId)
    // After the clock went back, a living process beats again within 4 s; until then its token protects it.
    .where((row) => sql`not ${hasCome(sql`${row.ref('alive_until')}`, AHEAD_MS.aliveUntil)}`)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  if (await isDeadHere(self, row)) return undefined;
  const { command, pid, machine, aliveUntil } = row;
  return { processId, command, pid, here: machine !== '' && machine === self.machine, aliveUntil };
}
