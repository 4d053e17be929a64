import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import type { SuspectedDeletion, SuspectKind } from '../../model/absence.ts';
import type { CollectionName, Scope } from '../../model/collections.ts';
import { ofScope } from '../table.ts';

/** A suspected deletion as stored: its key and `SUSPECT_COLUMNS`. */
export type SuspectRow = Omit<SuspectedDeletion, 'at' | 'servedAt'> & {
  readonly at: Date;
  readonly servedAt: Date | null;
};

/** What is read of a suspected deletion besides its key, from the table aliased `c`. */
export const SUSPECT_COLUMNS = sql`c.kind, c.at, c.served_at as "servedAt", c.proven_at is not null as proven`;

export function toSuspect({ key, kind, at, servedAt, proven }: SuspectRow): SuspectedDeletion {
  const known = { key, kind, at: at.getTime(), proven };
  return servedAt === null ? known : { ...known, servedAt: servedAt.getTime() };
}

/** All suspected deletions of a scope. */
export async function suspectsOf(db: Db, scope: Scope): Promise<SuspectedDeletion[]> {
  const { rows } = await db.sql<SuspectRow>`
    select c.key, ${SUSPECT_COLUMNS} from ${db.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)} order by c.key`;
  return rows.map(toSuspect);
}

/** Keys asked for by one statement. */
const BATCH = 10_000;

/**
 * Those of `keys` whose rows are suspected deleted (docs/design/deletions.md, "Suspected deletions"): they wait for a
 * second proof, or their deletion is proven and not yet carried out.
 */
export async function suspectsAmong(
  db: Db,
  scope: Scope,
  keys: readonly string[],
): Promise<Map<string, 'waiting' | 'proven'>> {
  const suspects = new Map<string, 'waiting' | 'proven'>();
  for (let start = 0; start < keys.length; start += BATCH) {
    const { rows } = await db.sql<{ key: string; proven: boolean }>`
      select c.key, c.proven_at is not null as proven from ${db.stateTable('candidate')} as c
      where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)}
        and c.key = any(${keys.slice(start, start + BATCH)}::text[])`;
    for (const { key, proven } of rows) suspects.set(key, proven ? 'proven' : 'waiting');
  }
  return suspects;
}

/** A scope that has suspected deletions. */
export interface SuspectScope {
  readonly scope: Scope;
  /** When the latest first proof was written: a second one is asked for the grace period after it. */
  readonly lastSuspectedAt: Date;
  /** Of those that wait for a second proof; empty where all are proven. */
  readonly kinds: readonly SuspectKind[];
  /** How many wait for a second proof. */
  readonly waiting: number;
  /** How many are proven: the brake blocks them, or a stop came before they were carried out. */
  readonly proven: number;
}

/** The scopes of an account's collection that have suspected deletions, those first that are due first. */
export async function suspectScopes(
  db: Db,
  userId: string,
  collection: CollectionName,
): Promise<SuspectScope[]> {
  const { rows } = await db.sql<Omit<SuspectScope, 'scope'> & { readonly parent: string }>`
    select c.parent, max(c.at) as "lastSuspectedAt",
      coalesce(array_agg(distinct c.kind) filter (where c.proven_at is null), '{}') as kinds,
      (count(*) filter (where c.proven_at is null))::float8 as waiting,
      (count(*) filter (where c.proven_at is not null))::float8 as proven
    from ${db.stateTable('candidate')} as c
    where c._user_id = ${userId}::bigint and c.collection = ${collection}
    group by c.parent order by "lastSuspectedAt", c.parent`;
  return rows.map(({ parent, ...row }) => ({ scope: { userId, collection, parent }, ...row }));
}
