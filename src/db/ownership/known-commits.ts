import type { Kysely } from 'kysely';
import type { Db } from '../connection/db.ts';

/** What this process knows to be committed for an account, under whatever fence. */
export interface KnownCommit {
  /** `account.change_id`: it rises only, so what is there later is at least this. */
  readonly changeId: bigint;
  /** `account.created_at`: an account whose data were removed may be made again, and begins anew. */
  readonly createdAt: number;
  /** When it was last noticed that the database went back, as text. */
  readonly recovery: string | null;
}

const commits = new WeakMap<Kysely<unknown>, Map<string, KnownCommit>>();

/**
 * The last commit known for the account that was made at `createdAt`. It outlives the fence: a database that goes away is what costs an owner its
 * fence, and may come back as an older one. By pool, since a process may work with several databases.
 */
export function knownCommit(db: Db, userId: string, createdAt: number): KnownCommit | undefined {
  const known = commits.get(db.kysely)?.get(`${db.schema}/${userId}`);
  return known?.createdAt === createdAt ? known : undefined;
}

export function rememberCommit(db: Db, userId: string, commit: KnownCommit): void {
  let ofPool = commits.get(db.kysely);
  if (ofPool === undefined) commits.set(db.kysely, (ofPool = new Map()));
  ofPool.set(`${db.schema}/${userId}`, commit);
}
