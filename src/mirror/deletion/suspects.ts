import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { SuspectedDeletion, SuspectKind } from '../../model/absence.ts';
import type { CollectionName, Scope } from '../../model/collections.ts';

/** A row of `<schema>_sync.candidate`, its key and `CANDIDATE`. */
export interface SuspectRow {
  readonly key: string;
  readonly kind: SuspectKind;
  readonly obs: string;
  readonly at: Date;
  readonly served_at: Date | null;
  readonly proven: boolean;
}

/** What is read of a candidate beside its key. Of the table aliased `c`. */
export const SUSPECT_COLUMNS = sql`c.kind, c.obs, c.at, c.served_at, c.proven_at is not null as proven`;

export function toSuspect({
  key,
  kind,
  obs,
  at,
  served_at: servedAt,
  proven,
}: SuspectRow): SuspectedDeletion {
  const known = { key, kind, obs: Number(obs), at: at.getTime(), proven };
  return servedAt === null ? known : { ...known, servedAt: servedAt.getTime() };
}

/** Condition on the table aliased `c`, beside its `_user_id`, which each statement names itself (docs/design/sql.md, "Rule 1"). */
export function candidateInScope(scope: Scope): RawBuilder<boolean> {
  return sql`c.collection = ${scope.collection} and c.parent = ${scope.parent}`;
}

/** All of a scope's rows in doubt. */
export async function suspectsOf(db: Db, scope: Scope): Promise<SuspectedDeletion[]> {
  const { rows } = await sql<SuspectRow>`
    select c.key, ${SUSPECT_COLUMNS} from ${db.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${candidateInScope(scope)} order by c.key`.execute(db);
  return rows.map(toSuspect);
}

/** Keys asked for by one statement. */
const BATCH = 10_000;

/**
 * Those of `keys` whose rows are in doubt (docs/design/deletions.md, "Suspected deletions"), by key: they wait for a second observation, or their deletion is
 * proven and not carried out yet.
 */
export async function suspectsAmong(
  db: Db,
  scope: Scope,
  keys: readonly string[],
): Promise<Map<string, 'waiting' | 'proven'>> {
  const suspects = new Map<string, 'waiting' | 'proven'>();
  for (let start = 0; start < keys.length; start += BATCH) {
    const { rows } = await sql<{ key: string; proven: boolean }>`
      select c.key, c.proven_at is not null as proven from ${db.stateTable('candidate')} as c
      where c._user_id = ${scope.userId}::bigint and ${candidateInScope(scope)}
        and c.key = any(${keys.slice(start, start + BATCH)}::text[])`.execute(db);
    for (const { key, proven } of rows) suspects.set(key, proven ? 'proven' : 'waiting');
  }
  return suspects;
}

/** A scope with rows in doubt. */
export interface SuspectScope {
  readonly scope: Scope;
  /** When the youngest first proof was written: a second one counts when it is sent the settle time after it. */
  readonly lastSuspectedAt: Date;
  /** Of the rows that wait for a second observation; empty where all are proven. */
  readonly kinds: readonly SuspectKind[];
  /** Rows that wait for a second observation. */
  readonly waiting: number;
  /** Rows whose deletion is proven: the brake holds them, or a stop came before they were deleted. */
  readonly proven: number;
}

/** The scopes of an account's collection that have rows in doubt, those first that are ripe first. */
export async function suspectScopes(
  db: Db,
  userId: string,
  collection: CollectionName,
): Promise<SuspectScope[]> {
  const { rows } = await sql<{
    parent: string;
    last_at: Date;
    kinds: SuspectKind[];
    waiting: string;
    proven: string;
  }>`
    select c.parent, max(c.at) as last_at,
      coalesce(array_agg(distinct c.kind) filter (where c.proven_at is null), '{}') as kinds,
      count(*) filter (where c.proven_at is null) as waiting,
      count(*) filter (where c.proven_at is not null) as proven
    from ${db.stateTable('candidate')} as c
    where c._user_id = ${userId}::bigint and c.collection = ${collection}
    group by c.parent order by last_at, c.parent`.execute(db);
  return rows.map(({ parent, last_at: lastSuspectedAt, kinds, waiting, proven }) => ({
    scope: { userId, collection, parent },
    lastSuspectedAt,
    kinds,
    waiting: Number(waiting),
    proven: Number(proven),
  }));
}
