import { type Db, onlyRow } from './db.ts';

/** What is stored of these keys, in no order. A key that no ping has tried is left out. */
export async function knownKeys(db: Db, keyHashes: readonly string[]) {
  if (keyHashes.length === 0) return [];
  const rows = await db.state.selectFrom('api_key').selectAll().where('key_hash', 'in', keyHashes).execute();
  return rows.map(({ key_hash: keyHash, _user_id: userId, answered_for: owner, error, pinged_at: provenAt }) => ({
    keyHash,
    /** Undefined: the service never accepted the key. */
    userId: userId ?? undefined,
    /** Why the service refused the key at its last ping; undefined: it did not. */
    error: error ?? undefined,
    /** Message for the user, with the remedy, if the key answered for another account than its owner. */
    moved: userId === null || owner === null ? undefined : (error ?? otherOwner(userId, keyHash, owner, provenAt)),
  }));
}

/** Stores the result of a ping: the key's owner, or why the key was refused. A refused key keeps its owner. */
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

/** Stores that a proof sent at `pinged_at` showed the key to be its owner's. */
export async function rememberProof(trx: Db, keyHash: string, pinged_at: Date): Promise<void> {
  const key = trx.state.updateTable('api_key').set({ pinged_at, error: null });
  await key.where('key_hash', '=', keyHash).execute();
}

/** Stores that the key answered for another account. It stays its owner's, unused. @returns message for the user */
export async function rememberMoved(db: Db, keyHash: string, userId: string, owner: string): Promise<string> {
  const { rows } = await db.sql<{ provenAt: Date }>`
    insert into ${db.stateTable('api_key')} as k (key_hash, _user_id, pinged_at, answered_for)
    values (${keyHash}, ${userId}::bigint, clock_timestamp(), ${owner}::bigint)
    on conflict (key_hash) do update set answered_for = excluded.answered_for
    returning pinged_at as "provenAt"`;
  return otherOwner(userId, keyHash, owner, onlyRow({ rows }).provenAt);
}

/** Removes the account's rows of these keys. @returns the keys that had one */
export async function forgetOwner(db: Db, userId: string, keyHashes: readonly string[]): Promise<string[]> {
  const { rows } = await db.sql<{ key: string }>`
    delete from ${db.stateTable('api_key')}
    where _user_id = ${userId}::bigint and key_hash = any(${keyHashes}::text[]) returning key_hash as key`;
  return rows.map(({ key }) => key);
}

/** URL of the service that the account is mirrored from; null: not known yet; undefined: no such account. */
export async function storedOrigin(db: Db, userId: string): Promise<string | null | undefined> {
  const accounts = db.state.selectFrom('account').select('origin').where('_user_id', '=', userId);
  return (await accounts.executeTakeFirst())?.origin;
}

/** Stores the URL of the service that the account is mirrored from. Call in a fenced transaction. */
export async function setOrigin(trx: Db, userId: string, origin: string): Promise<void> {
  await trx.state.updateTable('account').set({ origin }).where('_user_id', '=', userId).execute();
}

/** Message: why the account is not read from `origin`. */
export function otherService(userId: string, stored: string, origin: string): string {
  return (
    `account ${userId} was mirrored from ${stored}, not ${origin}: nothing is requested or written for it. ` +
    `Set MIRROR_API_URL back. If the service has moved: "research-mirror accounts move ${userId}"`
  );
}

/** Message: why the key is not the account's, and the remedy. @param provenAt time of the last proof that it was */
export function otherOwner(userId: string, keyHash: string, owner: string, provenAt?: Date): string {
  const since =
    provenAt === undefined
      ? ''
      : ` (rows with a _changed_at since ${provenAt.toISOString()} may belong to the other account)`;
  return (
    `API key ${keyHash.slice(0, 8)}… belongs to account ${owner}, not ${userId}${since}. ` +
    `Set the right MIRROR_API_KEY. If the key is right: "research-mirror accounts move ${userId}"`
  );
}

/** All accounts by ascending user_id. `keys` has the first digits of the SHA-256 of each key of the account. */
export async function listAccounts(db: Db) {
  // "accounts list --json" shows the fields in this order.
  const { rows: accounts } = await db.sql<{
    userId: string;
    email: string | null;
    /** If it is not `active`, `error` says why. */
    state: string;
    error: string | null;
    /** Null: not known yet. */
    origin: string | null;
  }>`
    select a._user_id as "userId", m.email, a.state, a.error, a.origin
    from ${db.stateTable('account')} as a left join ${db.table('account')} as m on m._user_id = a._user_id
    order by a._user_id`;
  const { rows: keys } = await db.sql<{ userId: string; short: string }>`
    select _user_id as "userId", left(key_hash, 8) as short from ${db.stateTable('api_key')}
    where _user_id is not null order by key_hash`;
  return accounts.map((account) => ({
    ...account,
    keys: keys.filter(({ userId }) => userId === account.userId).map(({ short }) => short),
  }));
}
