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
  // In this order "accounts list --json" shows them.
  const { rows: accounts } = await db.sql<Omit<StoredAccount, 'keys'>>`
    select a._user_id as "userId", m.email, a.state, a.error, a.origin
    from ${db.stateTable('account')} as a left join ${db.table('account')} as m on m._user_id = a._user_id
    order by a._user_id`;
  const keys = await db.state
    .selectFrom('api_key')
    .select(['_user_id', 'key_hash'])
    .where('_user_id', 'is not', null)
    .orderBy('key_hash')
    .execute();
  return accounts.map((account) => ({
    ...account,
    keys: keys.filter((row) => row._user_id === account.userId).map((row) => row.key_hash.slice(0, 8)),
  }));
}
