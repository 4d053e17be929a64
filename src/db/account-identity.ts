import { type Kysely, sql } from 'kysely';
import { syncTables } from './tables.ts';

/** What of an account's identity is stored before a proof of it is asked for. */
export interface StoredIdentity {
  /** The service's address; null: not known yet. */
  readonly origin: string | null;
  /** Decimal digits. */
  readonly changeId: string;
  /** The database's time. */
  readonly at: Date;
}

export async function storedIdentity(
  db: Kysely<unknown>,
  schema: string,
  userId: string,
): Promise<StoredIdentity> {
  const { rows } = await sql<{ origin: string | null; change_id: string; at: Date }>`
    select origin, change_id, clock_timestamp() as at from ${sql.id(`${schema}_sync`, 'account')}
    where _user_id = ${userId}::bigint`.execute(db);
  const [row] = rows;
  if (row === undefined) throw new RangeError(`account ${userId} has no row`);
  return { origin: row.origin, changeId: row.change_id, at: row.at };
}

/** Stores which service an account is of. To be called in a fenced transaction. */
export async function setOrigin(
  trx: Kysely<unknown>,
  schema: string,
  userId: string,
  origin: string,
): Promise<void> {
  await syncTables(trx, schema)
    .updateTable('account')
    .set({ origin })
    .where('_user_id', '=', userId)
    .execute();
}

/** A key that answered for another account than its owner. */
export interface MovedKey {
  readonly keyHash: string;
  /** What is to be said of it, with the remedy. */
  readonly why: string;
}

/** What of `keyHashes` answered for another account than `userId`, and whether its service is another one. */
export async function identityOf(
  db: Kysely<unknown>,
  schema: string,
  userId: string,
  keyHashes: readonly string[],
): Promise<{ readonly origin: string | null; readonly moved: readonly MovedKey[] }> {
  const tables = syncTables(db, schema);
  const account = await tables
    .selectFrom('account')
    .select('origin')
    .where('_user_id', '=', userId)
    .executeTakeFirst();
  const keys =
    keyHashes.length === 0
      ? []
      : await tables
          .selectFrom('api_key')
          .select(['key_hash', 'answered_for', 'error'])
          .where('key_hash', 'in', [...keyHashes])
          .where('answered_for', 'is not', null)
          .execute();
  const moved = keys.map(({ key_hash: keyHash, answered_for: owner, error }) => ({
    keyHash,
    why: error ?? otherOwner(userId, keyHash, owner ?? ''),
  }));
  return { origin: account?.origin ?? null, moved };
}

/** Refuses that the account is asked for at `origin`. */
export function otherService(userId: string, stored: string, origin: string): string {
  return (
    `account ${userId} was mirrored from ${stored}, not ${origin}: nothing is asked or written for it; ` +
    `set MIRROR_API_URL back, or where the service has moved there: "research-mirror accounts move ${userId}"`
  );
}

/** Says of a key that it is not the account's, and what helps. @param written what may be the other's, in words */
export function otherOwner(userId: string, keyHash: string, owner: string, written = ''): string {
  return (
    `API key ${keyHash.slice(0, 8)}… answers for account ${owner}, not ${userId}${written}: ` +
    `set the right MIRROR_API_KEY, or where it is right: "research-mirror accounts move ${userId}"`
  );
}
