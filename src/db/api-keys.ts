import type { Kysely } from 'kysely';
import { syncTables } from './tables.ts';

/** What the last ping of a key told. */
export interface KnownKey {
  readonly keyHash: string;
  /** Undefined: the service never accepted it. */
  readonly userId: string | undefined;
  readonly pingedAt: Date;
  /** Why the service refused it; undefined when it did not. */
  readonly error: string | undefined;
}

/** What is known of these keys, from this and earlier runs, in no order. */
export async function knownKeys(
  db: Kysely<unknown>,
  schema: string,
  keyHashes: readonly string[],
): Promise<KnownKey[]> {
  if (keyHashes.length === 0) return [];
  const rows = await syncTables(db, schema)
    .selectFrom('api_key')
    .selectAll()
    .where('key_hash', 'in', keyHashes)
    .execute();
  return rows.map((row) => ({
    keyHash: row.key_hash,
    userId: row._user_id ?? undefined,
    pingedAt: row.pinged_at,
    error: row.error ?? undefined,
  }));
}

/** Keeps what a ping told; a refused key keeps the owner that it had. */
export async function rememberKey(db: Kysely<unknown>, schema: string, key: KnownKey): Promise<void> {
  await syncTables(db, schema)
    .insertInto('api_key')
    .values({
      key_hash: key.keyHash,
      _user_id: key.userId ?? null,
      pinged_at: key.pingedAt,
      error: key.error ?? null,
    })
    .onConflict((conflict) =>
      conflict.column('key_hash').doUpdateSet((row) => ({
        pinged_at: row.ref('excluded.pinged_at'),
        error: row.ref('excluded.error'),
        ...(key.userId === undefined ? {} : { _user_id: row.ref('excluded._user_id') }),
      })),
    )
    .execute();
}
