import type { Db } from '../connection/db.ts';
import type { CollectionName } from '../../model/collections.ts';

/** What a daemon is asked to mirror. */
export interface DaemonAssignment {
  /** User IDs of the owners of its keys, as far as they are known. */
  readonly accounts: readonly string[];
  readonly collections: readonly CollectionName[];
  /** There are no other accounts: the owner of each of its keys is known. */
  readonly allKnown: boolean;
}

/** Whether any of them is asked to mirror the account's collection, or may be; undefined: it does not say for what. */
export function isAssigned(
  daemons: readonly (DaemonAssignment | undefined)[],
  userId: string,
  collection: CollectionName,
): boolean {
  return daemons.some(
    (each) =>
      each === undefined ||
      (each.collections.includes(collection) && (!each.allKnown || each.accounts.includes(userId))),
  );
}

/** Says in the process's row what it is asked for. */
export async function saveAssignment(db: Db, processId: string, asked: DaemonAssignment): Promise<void> {
  await db.state
    .updateTable('process')
    .set({ asked: JSON.stringify(asked) })
    .where('process_id', '=', processId)
    .execute();
}

/**
 * What the daemons are asked for. One that died is to come back, and counts, too, until a later one has taken its
 * place on its machine, or until its row is forgotten (heartbeat.ts); one that was stopped has no row.
 */
export async function daemonAssignments(db: Db, command: string): Promise<(DaemonAssignment | undefined)[]> {
  const process = db.stateTable('process');
  const { rows } = await db.sql<{ asked: DaemonAssignment | null }>`
    select p.asked from ${process} as p
    where p.command = ${command} and (p.alive_until > clock_timestamp() or not exists (
      select from ${process} as q
      where q.command = p.command and q.host = p.host and q.started_at > p.alive_until - interval '12 seconds'))`;
  return rows.map(({ asked }) => asked ?? undefined);
}

/** An account's collection, and whether it is paused. */
export interface StoredPause {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly paused: boolean;
}

export async function storedPauses(db: Db): Promise<StoredPause[]> {
  const rows = await db.mirror
    .selectFrom('_collections')
    .select(['_user_id', 'collection', 'paused_at'])
    .execute();
  return rows.map((row) => ({
    userId: row._user_id,
    collection: row.collection as CollectionName,
    paused: row.paused_at !== null,
  }));
}

/** Accounts that were taken out; their data may be gone. */
export async function retiredAccounts(db: Db): Promise<ReadonlySet<string>> {
  const rows = await db.state
    .selectFrom('account')
    .select('_user_id')
    .where('state', '=', 'retired')
    .execute();
  return new Set(rows.map(({ _user_id: userId }) => userId));
}
