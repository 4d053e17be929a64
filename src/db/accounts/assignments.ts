import type { Db } from '../connection/db.ts';
import type { CollectionName } from '../../model/collections.ts';

/** What a daemon is configured to mirror. */
export interface DaemonAssignment {
  /** User IDs of the known owners of its keys. */
  readonly accounts: readonly string[];
  readonly collections: readonly CollectionName[];
  /** The owner of each of its keys is known, so there are no other accounts. */
  readonly allKnown: boolean;
}

/**
 * Whether any of the daemons mirrors the account's collection, or may do so. A daemon is undefined where it does not
 * say what it mirrors.
 */
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

/** Stores in the process's row what it mirrors. */
export async function saveAssignment(db: Db, processId: string, asked: DaemonAssignment): Promise<void> {
  await db.sql`
    update ${db.stateTable('process')} set asked = ${JSON.stringify(asked)}::text::jsonb
    where process_id = ${processId} and asked is distinct from ${JSON.stringify(asked)}::text::jsonb`;
}

/**
 * What the daemons mirror. One that died counts, too, since it will be started again: until a later one has taken its
 * place on its machine, or its row is removed (heartbeat.ts). One that was stopped has no row.
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

/** Those that are paused, and those that a daemon so assigned is not asked for: all others are as they should be. */
export async function storedPauses(db: Db, own: DaemonAssignment): Promise<StoredPause[]> {
  const { rows } = await db.sql<StoredPause>`
    select c._user_id as "userId", c.collection, c.paused_at is not null as paused
    from ${db.table('_collections')} as c
    where c.paused_at is not null or not (c.collection = any(${[...own.collections]}::text[])
      and (${!own.allKnown} or c._user_id = any(${[...own.accounts]}::bigint[])))`;
  return rows;
}

/** Accounts that were retired; their data may have been removed. */
export async function retiredAccounts(db: Db): Promise<ReadonlySet<string>> {
  const rows = await db.state
    .selectFrom('account')
    .select('_user_id')
    .where('state', '=', 'retired')
    .execute();
  return new Set(rows.map(({ _user_id: userId }) => userId));
}
