import type { Db } from '../connection/db.ts';

/** What is stored of an account's identity, before the service is asked to prove it. */
export interface StoredIdentity {
  /** The service's address; null: not known yet. */
  readonly origin: string | null;
  /** Decimal digits. */
  readonly changeId: string;
  /** The database's time. */
  readonly at: Date;
}

export async function storedIdentity(db: Db, userId: string): Promise<StoredIdentity> {
  const { rows } = await db.sql<StoredIdentity>`
    select origin, change_id as "changeId", clock_timestamp() as at from ${db.stateTable('account')}
    where _user_id = ${userId}::bigint`;
  const [row] = rows;
  if (row === undefined) throw new RangeError(`account ${userId} has no row`);
  return row;
}

/** Stores from which service the account is mirrored. In a fenced transaction. */
export async function setOrigin(trx: Db, userId: string, origin: string): Promise<void> {
  await trx.state.updateTable('account').set({ origin }).where('_user_id', '=', userId).execute();
}

/** A key that answered for another account than its owner. */
export interface MovedKey {
  readonly keyHash: string;
  readonly userId: string;
  /** What the user reads, with the remedy. */
  readonly why: string;
}

/** Those of `keyHashes` that answered for another account than their owner, in no order. */
export async function movedKeys(db: Db, keyHashes: readonly string[]): Promise<MovedKey[]> {
  if (keyHashes.length === 0) return [];
  const rows = await db.state
    .selectFrom('api_key')
    .select(['key_hash as keyHash', '_user_id as userId', 'answered_for as owner', 'error'])
    .where('key_hash', 'in', keyHashes)
    .execute();
  return rows.flatMap(({ keyHash, userId, owner, error }) =>
    userId === null || owner === null
      ? []
      : [{ keyHash, userId, why: error ?? otherOwner(userId, keyHash, owner) }],
  );
}

/** The service from which the account is mirrored; null: not known yet, or there is no such account. */
export async function originOf(db: Db, userId: string): Promise<string | null> {
  const account = await db.state
    .selectFrom('account')
    .select('origin')
    .where('_user_id', '=', userId)
    .executeTakeFirst();
  return account?.origin ?? null;
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
