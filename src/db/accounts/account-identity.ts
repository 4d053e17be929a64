import type { Db } from '../connection/db.ts';

/** What is stored of an account's identity, before the service is asked to prove it. */
export async function storedIdentity(db: Db, userId: string) {
  /** `origin`: the service's address; null: not known yet. `at`: the database's time. */
  const { rows } = await db.sql<{ origin: string | null; changeId: string; at: Date }>`
    select origin, change_id as "changeId", clock_timestamp() as at from ${db.stateTable('account')}
    where _user_id = ${userId}::bigint`;
  return rows[0];
}

/** Stores from which service the account is mirrored. In a fenced transaction. */
export async function setOrigin(trx: Db, userId: string, origin: string): Promise<void> {
  await trx.state.updateTable('account').set({ origin }).where('_user_id', '=', userId).execute();
}

/** Why the account is not read from `origin`. */
export function otherService(userId: string, stored: string, origin: string): string {
  return (
    `account ${userId} was mirrored from ${stored}, not ${origin}: nothing is asked or written for it; ` +
    `set MIRROR_API_URL back, or where the service has moved there: "research-mirror accounts move ${userId}"`
  );
}

/** Why the key is not the account's, and the remedy. @param written in words, what may be the other account's */
export function otherOwner(userId: string, keyHash: string, owner: string, written = ''): string {
  return (
    `API key ${keyHash.slice(0, 8)}… answers for account ${owner}, not ${userId}${written}: ` +
    `set the right MIRROR_API_KEY, or where it is right: "research-mirror accounts move ${userId}"`
  );
}
