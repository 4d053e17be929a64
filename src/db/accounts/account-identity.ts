import type { Db } from '../connection/db.ts';

/** The service that the account is mirrored from; null: not known yet; undefined: there is no such account. */
export async function storedOrigin(db: Db, userId: string): Promise<string | null | undefined> {
  const accounts = db.state.selectFrom('account').select('origin').where('_user_id', '=', userId);
  return (await accounts.executeTakeFirst())?.origin;
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

/**
 * Why the key is not the account's, and the remedy.
 * @param provenAt when it last was; what was written since then may be the other account's
 */
export function otherOwner(userId: string, keyHash: string, owner: string, provenAt?: Date): string {
  const since =
    provenAt === undefined
      ? ''
      : ` (rows with a _changed_at from ${provenAt.toISOString()} on may be the other’s)`;
  return (
    `API key ${keyHash.slice(0, 8)}… answers for account ${owner}, not ${userId}${since}: ` +
    `set the right MIRROR_API_KEY, or where it is right: "research-mirror accounts move ${userId}"`
  );
}
