import type { Db } from '../connection/db.ts';

/** An account of the mirror, for people. */
export interface StoredAccount {
  /** Decimal digits of a bigint. */
  readonly userId: string;
  /** From the service. */
  readonly email: string | null;
  /** `active`, or `stopped`: then `error` says why. */
  readonly state: string;
  readonly error: string | null;
  /** The service from which it is mirrored; null: not known yet. */
  readonly origin: string | null;
  /** Of the keys that were its own at their last ping, the first digits of the SHA-256. */
  readonly keys: readonly string[];
}

/** All accounts, the least user_id first. */
export async function listAccounts(db: Db): Promise<StoredAccount[]> {
  const accounts = await db.state
    .selectFrom('account')
    .select(['_user_id as userId', 'state', 'error', 'origin'])
    .orderBy('_user_id')
    .execute();
  const emails = await db.mirror.selectFrom('account').select(['_user_id', 'email']).execute();
  const keys = await db.state
    .selectFrom('api_key')
    .select(['_user_id', 'key_hash'])
    .where('_user_id', 'is not', null)
    .orderBy('key_hash')
    .execute();
  // In this order "accounts list --json" shows them.
  return accounts.map(({ userId, state, error, origin }) => ({
    userId,
    email: emails.find((row) => row._user_id === userId)?.email ?? null,
    state,
    error,
    origin,
    keys: keys.filter((row) => row._user_id === userId).map((row) => row.key_hash.slice(0, 8)),
  }));
}
