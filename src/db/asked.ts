import { type Kysely, sql } from 'kysely';
import type { CollectionName } from '../model/collections.ts';
import { syncTables } from './tables.ts';

/** What a daemon is asked to mirror. */
export interface Asked {
  /** User IDs of the owners of its keys, as far as they are known. */
  readonly accounts: readonly string[];
  readonly collections: readonly CollectionName[];
  /** There are no other accounts: the owner of each of its keys is known. */
  readonly allKnown: boolean;
}

/** Whether any of them is asked to mirror the account's collection, or may be; undefined: it does not say for what. */
export function isAskedFor(
  daemons: readonly (Asked | undefined)[],
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
export async function sayAsked(
  db: Kysely<unknown>,
  schema: string,
  processId: string,
  asked: Asked,
): Promise<void> {
  await syncTables(db, schema)
    .updateTable('process')
    .set({ asked: JSON.stringify(asked) })
    .where('process_id', '=', processId)
    .execute();
}

/**
 * What the daemons are asked for. One that died is to come back, and counts, too, until a later one has taken its
 * place on its machine, or until its row is forgotten (heartbeat.ts); one that was stopped has no row.
 */
export async function askedOfDaemons(
  db: Kysely<unknown>,
  schema: string,
  command: string,
): Promise<(Asked | undefined)[]> {
  const process = sql.id(`${schema}_sync`, 'process');
  const { rows } = await sql<{ asked: Asked | null }>`
    select p.asked from ${process} as p
    where p.command = ${command} and (p.alive_until > clock_timestamp() or not exists (
      select from ${process} as q
      where q.command = p.command and q.host = p.host and q.started_at > p.alive_until - interval '12 seconds'))`.execute(
    db,
  );
  return rows.map(({ asked }) => asked ?? undefined);
}

/** An account's collection, and whether it is paused. */
export interface StoredPause {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly paused: boolean;
  readonly retired: boolean;
}

export async function storedPauses(db: Kysely<unknown>, schema: string): Promise<StoredPause[]> {
  const { rows } = await sql<{
    _user_id: string;
    collection: CollectionName;
    paused: boolean;
    retired: boolean;
  }>`
    select c._user_id, c.collection, c.paused_at is not null as paused, a.state = 'retired' as retired
    from ${sql.id(schema, '_collections')} as c
    join ${sql.id(`${schema}_sync`, 'account')} as a on a._user_id = c._user_id
    order by c._user_id, c.collection`.execute(db);
  return rows.map(({ _user_id: userId, ...row }) => ({ userId, ...row }));
}
