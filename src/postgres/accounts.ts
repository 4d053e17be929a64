import { type Db, onlyRow } from './db.ts';

/** What this and earlier runs know of a key. */
interface KnownKey {
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

/** An account of the mirror, for people. */
interface StoredAccount {
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
