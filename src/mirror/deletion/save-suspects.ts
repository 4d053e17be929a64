import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { SuspectChange } from '../../model/absence.ts';
import type { Scope } from '../../model/collections.ts';
import { candidateInScope } from './suspects.ts';

/** Rows written by one statement, so that none exceeds the bound of statements. */
const BATCH = 20_000;

/** What an observation changes of its scope's rows in doubt. */
export interface SuspectWrite {
  readonly change: SuspectChange;
  /** Number of the observation. */
  readonly obs: number;
  /** The database's clock in this transaction. */
  readonly at: Date;
  /** The scope has candidates already; else there is nothing to prove or to withdraw. */
  readonly hasSuspects: boolean;
}

/** Writes what an observation changes of the scope's rows in doubt, and counts them. */
export async function saveSuspects(
  trx: Db,
  scope: Scope,
  { change, obs, at, hasSuspects }: SuspectWrite,
): Promise<void> {
  const { add, prove, withdraw, withdrawOrdered } = change;
  const servedAt = change.servedAt === undefined ? null : new Date(change.servedAt);
  let total = 0;
  let proven = 0;
  const forget = async (keys: readonly string[]): Promise<void> => {
    const gone = await forgetSuspects(trx, scope, keys);
    total -= gone.total;
    proven -= gone.proven;
  };
  if (hasSuspects && withdrawOrdered) {
    const gone = await forgetOrdered(trx, scope);
    total -= gone.total;
    proven -= gone.proven;
  }
  if (hasSuspects) {
    for (const keys of batches([...withdraw, ...add.map(({ key }) => key)])) await forget(keys);
  }
  for (const rows of batches(add)) {
    await sql`
      insert into ${trx.stateTable('candidate')} (_user_id, collection, parent, key, kind, obs, at, served_at)
      select a._user_id, ${scope.collection}, ${scope.parent}, x.key, x.kind, ${obs}::bigint, ${at}::timestamptz,
        ${servedAt}::timestamptz
      from ${trx.stateTable('account')} as a
      cross join unnest(${rows.map(({ key }) => key)}::text[], ${rows.map(({ kind }) => kind)}::text[]) as x (key, kind)
      where a._user_id = ${scope.userId}::bigint`.execute(trx);
    total += rows.length;
  }
  if (hasSuspects) {
    for (const keys of batches(prove)) {
      const { numAffectedRows } = await sql`
        update ${trx.stateTable('candidate')} as c set proven_at = ${at}::timestamptz
        where c._user_id = ${scope.userId}::bigint and ${candidateInScope(scope)} and c.key = any(${[...keys]}::text[]) and c.proven_at is null`.execute(
        trx,
      );
      proven += Number(numAffectedRows ?? 0n);
    }
  }
  await countSuspects(trx, scope, total, proven);
}

/** How many candidates there were, and how many of them were proven. */
export interface Forgotten {
  readonly total: number;
  readonly proven: number;
}

/** Removes the candidates of these keys, where there are any. They stay counted: see `countDoubts`. */
export async function forgetSuspects(trx: Db, scope: Scope, keys: readonly string[]): Promise<Forgotten> {
  if (keys.length === 0) return { total: 0, proven: 0 };
  return forgetThose(trx, scope, sql`c.key = any(${[...keys]}::text[])`);
}

/** Removes all candidates of a scope. They stay counted: see `countDoubts`. */
export function forgetAllSuspects(trx: Db, scope: Scope): Promise<Forgotten> {
  return forgetThose(trx, scope, sql`true`);
}

/** The order was contradicted: what it proved is no proof, and never was. */
function forgetOrdered(trx: Db, scope: Scope): Promise<Forgotten> {
  return forgetThose(trx, scope, sql`c.kind = 'interval'`);
}

/** @param which condition on the table aliased `c` */
async function forgetThose(trx: Db, scope: Scope, which: RawBuilder<unknown>): Promise<Forgotten> {
  const { rows } = await sql<{ proven: boolean }>`
    delete from ${trx.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${candidateInScope(scope)} and ${which}
    returning c.proven_at is not null as proven`.execute(trx);
  return { total: rows.length, proven: rows.filter(({ proven }) => proven).length };
}

/**
 * Adds to the collection's counters of rows in doubt, which `data_quality` shows. While the brake holds the collection
 * (it has held deletions), each proven one is held; else all of them wait.
 */
export async function countSuspects(trx: Db, scope: Scope, total: number, proven: number): Promise<void> {
  if (total === 0 && proven === 0) return;
  const blocked = sql`case when c.held_deletions > 0 then ${proven}::bigint else 0 end`;
  await sql`
    update ${trx.table('_collections')} as c
    set held_deletions = c.held_deletions + ${blocked},
      waiting_deletions = c.waiting_deletions + ${total}::bigint - ${blocked}
    where c._user_id = ${scope.userId}::bigint and c.collection = ${scope.collection}`.execute(trx);
}

function* batches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += BATCH) yield all.slice(from, from + BATCH);
}
