import type { Db } from '../connection/db.ts';
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
  return rows.map(({ key_hash: keyHash, _user_id: userId, answered_for: owner, error }) => ({
    keyHash,
    userId: userId ?? undefined,
    error: error ?? undefined,
    moved: userId === null || owner === null ? undefined : (error ?? otherOwner(userId, keyHash, owner)),
  }));
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

/** Stores that the key is still its owner's. `proof.changeId`: the account's, before the proof was requested. */
export async function rememberProof(
  db: Db,
  keyHash: string,
  proof: { readonly changeId: string; readonly at: Date },
): Promise<void> {
  await db.state
    .updateTable('api_key')
    .set({ pinged_at: proof.at, error: null, proven_change_id: proof.changeId })
    .where('key_hash', '=', keyHash)
    .execute();
}

/**
 * Stores that the key answered for another account: it stays its former owner's, and is not used.
 * @returns the account's change_id before the last good proof; undefined: none is known
 */
export async function rememberMoved(
  db: Db,
  key: { readonly keyHash: string; readonly userId: string; readonly answeredFor: string; readonly at: Date },
): Promise<string | undefined> {
  const { keyHash: key_hash, userId: _user_id, answeredFor: answered_for, at } = key;
  const row = await db.state
    .insertInto('api_key')
    .values({ key_hash, _user_id, pinged_at: at, answered_for, answered_at: at })
    .onConflict((conflict) =>
      conflict.column('key_hash').doUpdateSet((excluded) => ({
        answered_for: excluded.ref('excluded.answered_for'),
        answered_at: excluded.ref('excluded.answered_at'),
      })),
    )
    .returning('proven_change_id')
    .executeTakeFirst();
  return row?.proven_change_id ?? undefined;
}

/** Stores what the user reads of a key that answered for another account. */
export async function rememberWhy(db: Db, keyHash: string, why: string): Promise<void> {
  await db.state.updateTable('api_key').set({ error: why }).where('key_hash', '=', keyHash).execute();
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
