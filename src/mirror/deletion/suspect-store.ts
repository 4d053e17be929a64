import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { SuspectChange, SuspectedDeletion, SuspectKind } from '../../model/absence.ts';
import type { Scope, CollectionName } from '../../model/collections.ts';
import { throwUnlessAt } from '../scope/scope-row.ts';
import { ofScope } from '../table.ts';

/** Rows written or asked for by one statement, so that it stays within its time bound. */
const BATCH = 20_000;

/**
 * Changes a scope's suspected deletions by what two whole walks show together. A deleted scope has none.
 * @param obs number of the last committed observation, on which the change rests
 * @throws Superseded when a later one is committed, which may have seen the rows; DatabaseWentBack
 */
export async function recordSuspects(
  trx: Db,
  scope: Scope,
  change: SuspectChange,
  obs: number,
  at: Date,
): Promise<void> {
  const { rows } = await trx.sql<{ last: string; gone: boolean; hasSuspects: boolean }>`
    select s.last_obs as last, s.gone_at is not null as gone,
      exists (
        select from ${trx.stateTable('candidate')} as c
        where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)}) as "hasSuspects"
    from ${trx.stateTable('scope')} as s
    where s._user_id = ${scope.userId}::bigint and ${ofScope('s', scope)}`;
  const [row] = rows;
  if (row?.gone === true) return;
  if (Number(row?.last) !== obs) await throwUnlessAt(trx, scope, obs);
  await saveSuspects(trx, scope, change, obs, at, row?.hasSuspects === true);
}

/**
 * Writes what an observation changes of the scope's suspected deletions, and counts them.
 * @param obs number of the observation
 * @param at the database's clock in this transaction
 * @param hasSuspects the scope has suspected deletions; else there are none to prove or to withdraw
 */
export async function saveSuspects(
  trx: Db,
  scope: Scope,
  change: SuspectChange,
  obs: number,
  at: Date,
  hasSuspects: boolean,
): Promise<void> {
  const { add, prove, withdraw, withdrawOrdered } = change;
  const servedAt = change.servedAt === undefined ? null : new Date(change.servedAt);
  let total = 0;
  let proven = 0;
  const forgotten = (counts: Forgotten): void => {
    total -= counts.total;
    proven -= counts.proven;
  };
  if (hasSuspects) {
    // The order was contradicted: what it proved was no proof.
    if (withdrawOrdered) forgotten(await forgetThose(trx, scope, sql`c.kind = 'interval'`));
    for (const keys of batches([...withdraw, ...add.map(({ key }) => key)])) {
      forgotten(await forgetThose(trx, scope, withKeys(keys)));
    }
  }
  for (const rows of batches(add)) {
    await trx.sql`
      insert into ${trx.stateTable('candidate')} (_user_id, collection, parent, key, kind, obs, at, served_at)
      select a._user_id, ${scope.collection}, ${scope.parent}, x.key, x.kind, ${obs}::bigint, ${at}::timestamptz,
        ${servedAt}::timestamptz
      from ${trx.stateTable('account')} as a
      cross join unnest(${rows.map(({ key }) => key)}::text[], ${rows.map(({ kind }) => kind)}::text[]) as x (key, kind)
      where a._user_id = ${scope.userId}::bigint`;
    total += rows.length;
  }
  for (const keys of batches(hasSuspects ? prove : [])) {
    const { numAffectedRows } = await trx.sql`
      update ${trx.stateTable('candidate')} as c set proven_at = ${at}::timestamptz
      where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)} and c.key = any(${[...keys]}::text[])
        and c.proven_at is null`;
    proven += Number(numAffectedRows ?? 0n);
  }
  await countSuspects(trx, scope, total, proven);
}

/** Removes the suspected deletions of these keys, or all of the scope, and counts them no more. */
export async function forgetSuspects(
  trx: Db,
  scope: Scope,
  keys: readonly string[] | 'all',
): Promise<Forgotten> {
  const forgotten = await forgetThose(trx, scope, keys === 'all' ? sql`true` : withKeys(keys));
  await countSuspects(trx, scope, -forgotten.total, -forgotten.proven);
  return forgotten;
}

function withKeys(keys: readonly string[]): RawBuilder<unknown> {
  return sql`c.key = any(${[...keys]}::text[])`;
}

/** How many suspected deletions were removed, and how many of them were proven. */
export interface Forgotten {
  readonly total: number;
  readonly proven: number;
}

/** @param which condition on the table aliased `c` */
async function forgetThose(trx: Db, scope: Scope, which: RawBuilder<unknown>): Promise<Forgotten> {
  const { rows } = await trx.sql<{ proven: boolean }>`
    delete from ${trx.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)} and ${which}
    returning c.proven_at is not null as proven`;
  return { total: rows.length, proven: rows.filter(({ proven }) => proven).length };
}

/**
 * Adds to the collection's counters of suspected deletions, which `data_quality` shows. While the brake blocks the
 * collection (it has blocked deletions), each proven one is blocked; else all of them wait.
 */
export async function countSuspects(trx: Db, scope: Scope, total: number, proven: number): Promise<void> {
  if (total === 0 && proven === 0) return;
  const blocked = sql`case when c.held_deletions > 0 then ${proven}::bigint else 0 end`;
  await trx.sql`
    update ${trx.table('_collections')} as c
    set held_deletions = c.held_deletions + ${blocked},
      waiting_deletions = c.waiting_deletions + ${total}::bigint - ${blocked}
    where c._user_id = ${scope.userId}::bigint and c.collection = ${scope.collection}`;
}

function* batches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += BATCH) yield all.slice(from, from + BATCH);
}

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
  for (const some of batches(keys)) {
    const { rows } = await db.sql<{ key: string; proven: boolean }>`
      select c.key, c.proven_at is not null as proven from ${db.stateTable('candidate')} as c
      where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)}
        and c.key = any(${[...some]}::text[])`;
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
