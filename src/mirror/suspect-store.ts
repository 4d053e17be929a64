/** Rows of `candidate`: suspected deletions, and the rows that a page proves absent. */

import { type RawBuilder, sql } from 'kysely';
import type { AbsenceProof, MissingRow, SuspectChange, SuspectedDeletion } from '../model/absence.ts';
import type { CollectionName, KeyType, Scope } from '../model/collections.ts';
import { compareKeys } from '../model/key.ts';
import { unlessAhead } from '../postgres/clock-step.ts';
import type { Db } from '../postgres/db.ts';
import { MAX_MISSING } from './live-rows.ts';
import { throwUnlessAt } from './scope-store.ts';
import {
  behind,
  dataTable,
  inScope,
  keyColumn,
  keyTypeName,
  ofScope,
  place,
  placeOf,
  placeOrder,
  type Table,
} from './table.ts';

/** Rows of one statement, which has to stay within its time bound. */
const BATCH = 20_000;

/**
 * Changes a scope's suspected deletions after two whole walks. A deleted scope has none.
 * @param obs number of the last committed observation, on which the change rests
 * @throws Superseded if a later one is committed, which may have seen the rows; DatabaseWentBack
 */
export async function recordSuspects(trx: Db, scope: Scope, change: SuspectChange, obs: number, at: Date) {
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
 * Stores changes of the scope's suspected deletions and counts them.
 * @param obs number of the observation
 * @param at time of this transaction by the database's clock
 * @param hasSuspects the scope has suspected deletions; else none can be proven or withdrawn
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
  const forget = async (which: RawBuilder<unknown>): Promise<void> => {
    const forgotten = await forgetThose(trx, scope, which);
    total -= forgotten.total;
    proven -= forgotten.proven;
  };
  if (hasSuspects) {
    // A contradicted order has proven nothing.
    if (withdrawOrdered) await forget(sql`c.kind = 'interval'`);
    for (const keys of batches([...withdraw, ...add.map(({ key }) => key)])) await forget(withKeys(keys));
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

/** Removes the suspected deletions of these keys or of the whole scope, and updates the counters. */
export async function forgetSuspects(trx: Db, scope: Scope, keys: readonly string[] | 'all') {
  const forgotten = await forgetThose(trx, scope, keys === 'all' ? sql`true` : withKeys(keys));
  await countSuspects(trx, scope, -forgotten.total, -forgotten.proven);
  return forgotten;
}

function withKeys(keys: readonly string[]): RawBuilder<unknown> {
  return sql`c.key = any(${[...keys]}::text[])`;
}

/** @param which condition on the table aliased `c` @returns how many there were, and how many of them were proven */
async function forgetThose(trx: Db, scope: Scope, which: RawBuilder<unknown>) {
  const { rows } = await trx.sql<{ proven: boolean }>`
    delete from ${trx.stateTable('candidate')} as c
    where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)} and ${which}
    returning c.proven_at is not null as proven`;
  return { total: rows.length, proven: rows.filter(({ proven }) => proven).length };
}

/**
 * Adds to the collection's counters of suspected deletions, which `data_quality` shows. While the brake blocks the
 * collection, proven ones are blocked; else all of them wait.
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
type SuspectRow = Omit<SuspectedDeletion, 'at' | 'servedAt'> & { at: Date; servedAt: Date | null };

/** Columns of a suspected deletion without its key, from the table aliased `c`. */
const SUSPECT_COLUMNS = sql`c.kind, c.at, c.served_at as "servedAt", c.proven_at is not null as proven`;

function toSuspect({ key, kind, at, servedAt, proven }: SuspectRow): SuspectedDeletion {
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
 * Suspected deletions among `keys` (docs/design/deletions.md, "Suspected deletions"): they wait for a second proof, or
 * they are proven and not deleted yet.
 */
export async function suspectsAmong(db: Db, scope: Scope, keys: readonly string[]) {
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
  /** Time of the latest first proof: the second one is requested the grace period later. */
  readonly lastSuspectedAt: Date;
  /** Kinds of those that wait for a second proof; empty if all are proven. */
  readonly kinds: readonly SuspectedDeletion['kind'][];
  /** Number of those that wait for a second proof. */
  readonly waiting: number;
  /** Number of proven ones: the brake blocks them, or a stop came before they were deleted. */
  readonly proven: number;
}

/** Scopes of an account's collection with suspected deletions, by the time when they are due. */
export async function suspectScopes(db: Db, userId: string, collection: CollectionName): Promise<SuspectScope[]> {
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

/** Rows that a page proves absent, and the suspected deletions that it may change. */
const NO_ABSENCE = {
  /** In key order, `MAX_MISSING` at most. */
  missing: [] as readonly MissingRow[],
  suspects: [] as readonly SuspectedDeletion[],
  /** Suspected returns that the page proves absent: their rows stay deleted. */
  refuted: [] as readonly string[],
};

/** A missing row, a suspected deletion, or both. `changedAt` is null if the row is not missing. */
type AbsenceRow = { key: string; changedAt: Date | null } & (Omit<SuspectRow, 'key'> | { kind: null });

/**
 * The live rows that a page proves absent, and the suspected deletions among them and the page's keys. One statement
 * unless very many rows are missing; none for a page that can't prove anything.
 * @param keys of all items of the page, those in quarantine included: the service has them
 * @param hasSuspects the scope has suspected deletions
 */
export async function readAbsence(
  trx: Db,
  table: Table,
  scope: Scope,
  proof: AbsenceProof | null,
  keys: readonly string[],
  hasSuspects: boolean,
): Promise<typeof NO_ABSENCE> {
  if (table.key === undefined || (proof === null && !hasSuspects)) return NO_ABSENCE;
  const { type } = table.key;
  const column = keyColumn(table);
  const sqlType = keyTypeName(table);
  const ofSuspects = sql`c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)}`;
  /** The first `BATCH` missing rows after `last` in key order. */
  const missingRows = (by: AbsenceProof, last?: string): RawBuilder<unknown> => {
    const columns = hasSuspects
      ? SUSPECT_COLUMNS
      : sql`null::text as kind, null::timestamptz as at, null::timestamptz as "servedAt", null::boolean as proven`;
    // A primary key lookup for each row: without statistics, a join may read all suspects for each.
    const suspects = hasSuspects
      ? sql`left join lateral (
          select c.* from ${trx.stateTable('candidate')} as c
          where ${ofSuspects} and c.key = ${column}::text offset 0) as c
        on true`
      : sql``;
    return sql`(
      select ${column}::text as key, ${unlessAhead(sql`t._changed_at`)} as "changedAt", ${columns}
      from ${dataTable(table)} as t ${suspects}
      where ${inScope(table, scope)} and ${inside(table, by)} and ${behind(table, last)} and t._deleted_at is null
        and ${column} <> all(${[...keys]}::${sqlType}[])
      order by ${placeOrder(table, 'up')} limit ${BATCH})`;
  };
  const suspectsWith = (condition: RawBuilder<unknown>): RawBuilder<unknown> => sql`(
    select c.key, null::timestamptz as "changedAt", ${SUSPECT_COLUMNS} from ${trx.stateTable('candidate')} as c
    where ${ofSuspects} and ${condition})`;
  const parts: RawBuilder<unknown>[] = [];
  if (proof !== null) parts.push(missingRows(proof));
  if (hasSuspects) parts.push(suspectsWith(withKeys(keys)));
  if (hasSuspects && proof !== null) {
    // Suspected returns of rows that are neither live nor on the page.
    const live = sql`
      select from ${dataTable(table)} as t
      where ${inScope(table, scope)} and ${column} = c.key::${sqlType} and t._deleted_at is null offset 0`;
    parts.push(suspectsWith(sql`c.kind = 'returned' and c.key <> all(${[...keys]}::text[]) and not exists (${live})`));
  }
  const { rows } = await trx.sql<AbsenceRow>`${sql.join(parts, sql` union all `)}`;
  if (proof !== null) {
    // Missing rows after a full first batch come with one statement per batch.
    let batch = rows.filter(({ changedAt }) => changedAt !== null);
    for (let count = batch.length; batch.length === BATCH && count < MAX_MISSING; count += batch.length) {
      const last = batch.map(({ key }) => key).reduce((a, b) => (compareKeys(type, a, b) < 0 ? b : a));
      batch = (await trx.sql<AbsenceRow>`${missingRows(proof, last)}`).rows;
      for (const row of batch) rows.push(row);
    }
  }
  const onPage = new Set(keys);
  return {
    missing: rows.flatMap(({ key, changedAt }) =>
      changedAt === null ? [] : [{ key, changedAt: changedAt.getTime() }],
    ),
    suspects: rows.flatMap((row) => (row.kind === null ? [] : [toSuspect(row)])),
    refuted: rows.flatMap(({ key, changedAt }) =>
      proof !== null && changedAt === null && !onPage.has(key) && covers(proof, type, key) ? [key] : [],
    ),
  };
}

/** Keys that the proof covers; of an interval, those after `after` in list order up to and including `through`. */
function inside(table: Table, proof: AbsenceProof): RawBuilder<unknown> {
  if (proof.kind === 'snapshot') return sql`true`;
  const { direction, after, through } = proof;
  const falling = direction === 'falling';
  const bounds = [sql`true`];
  if (after !== null) bounds.push(sql`${place(table)} ${falling ? sql`<` : sql`>`} ${placeOf(table, after)}`);
  if (through !== null) {
    bounds.push(sql`${place(table)} ${falling ? sql`>=` : sql`<=`} ${placeOf(table, through)}`);
  }
  return sql.join(bounds, sql` and `);
}

/** Whether `inside` covers the key. */
function covers(proof: AbsenceProof, type: KeyType, key: string): boolean {
  if (proof.kind === 'snapshot') return true;
  const { direction, after, through } = proof;
  const forward = (a: string, b: string): number => compareKeys(type, a, b) * (direction === 'falling' ? -1 : 1);
  return (after === null || forward(after, key) < 0) && (through === null || forward(key, through) <= 0);
}
