import { type Db, onlyRow } from '../connection/db.ts';
import { otherOwner } from './account-identity.ts';

/** What this and earlier runs know of a key. */
export interface KnownKey {
  readonly keyHash: string;
  /** Undefined: the service never accepted it. */
  readonly userId: string | undefined;
  /** Why the service refused it at its last ping; undefined when it did not. */
  readonly error: string | undefined;
  /** It answered for another account than its owner: what the user reads, with the remedy. */
  readonly moved: string | undefined;
}

/** Those of these keys of which anything is known, in no order. */
export async function knownKeys(db: Db, keyHashes: readonly string[]): Promise<KnownKey[]> {
  if (keyHashes.length === 0) return [];
  const rows = await db.state.selectFrom('api_key').selectAll().where('key_hash', 'in', keyHashes).execute();
  return rows.map(
    ({ key_hash: keyHash, _user_id: userId, answered_for: owner, error, pinged_at: provenAt }) => ({
      keyHash,
      userId: userId ?? undefined,
      error: error ?? undefined,
      moved:
        userId === null || owner === null
          ? undefined
          : (error ?? otherOwner(userId, keyHash, owner, provenAt)),
    }),
  );
}

/** Stores the result of a ping: the key's owner, or why it was refused; a refused key keeps its owner. */
export async function rememberKey(
  db: Db,
  keyHash: string,
  { userId, error }: { readonly userId?: string; readonly error?: string },
): Promise<void> {
  await db.sql`
    insert into ${db.stateTable('api_key')} as k (key_hash, _user_id, pinged_at, error)
    values (${keyHash}, ${userId ?? null}::bigint, clock_timestamp(), ${error ?? null})
    on conflict (key_hash) do update set pinged_at = excluded.pinged_at, error = excluded.error,
      _user_id = coalesce(excluded._user_id, k._user_id)`;
}

/** Stores that the key is its owner's, by a proof that was sent at that moment. */
export async function rememberProof(trx: Db, keyHash: string, pinged_at: Date): Promise<void> {
  const key = trx.state.updateTable('api_key').set({ pinged_at, error: null });
  await key.where('key_hash', '=', keyHash).execute();
}

/**
 * Stores that the key answered for another account: it stays its former owner's, and is not used.
 * @returns what the user reads of that
 */
export async function rememberMoved(db: Db, keyHash: string, userId: string, owner: string): Promise<string> {
  const { rows } = await db.sql<{ provenAt: Date }>`
    insert into ${db.stateTable('api_key')} as k (key_hash, _user_id, pinged_at, answered_for)
    values (${keyHash}, ${userId}::bigint, clock_timestamp(), ${owner}::bigint)
    on conflict (key_hash) do update set answered_for = excluded.answered_for
    returning pinged_at as "provenAt"`;
  return otherOwner(userId, keyHash, owner, onlyRow({ rows }).provenAt);
}

/** Forgets that keys are the account's, and for whom they have answered. @returns those that were the account's */
export async function forgetOwner(db: Db, userId: string, keyHashes: readonly string[]): Promise<string[]> {
  const rows = await db.state
    .deleteFrom('api_key')
    .where('_user_id', '=', userId)
    .where('key_hash', 'in', keyHashes)
    .returning('key_hash')
    .execute();
  return rows.map((row) => row.key_hash);
}
