import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { readAccount } from '../../db/ownership/account-plans.ts';
import { fenced } from '../../db/ownership/fenced.ts';
import {
  dueHints,
  forgetOtherHints,
  nextHint,
  type NextHint,
  updateHints,
  type HintUpdate,
  type StoredHint,
} from '../../db/events/hint-store.ts';
import { keyColumn } from '../../mirror/rows/key-order.ts';
import { inScope, dataTable, tableOf, keyTypeName } from '../../mirror/table.ts';
import { liveCount } from '../../mirror/page/known-rows.ts';
import { collection, type CollectionName, type Scope } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';
import type { RowState } from './judge-hints.ts';

/** The hints of an account in Postgres, and the state of the hinted rows. */
export interface HintStore {
  /** The scope whose hint is due first, among these collections and except these scopes. */
  next(among: readonly CollectionName[], except: readonly Scope[]): Promise<NextHint | undefined>;
  /** The scope's due hints, up to a bound: the rest comes next time. */
  due(scope: Scope): Promise<StoredHint[]>;
  /** The rows that the mirror has, deleted ones too, by key. */
  rows(scope: Scope, keys: readonly string[]): Promise<ReadonlyMap<string, RowState>>;
  /** When a row of the scope changed last; undefined: it has none. */
  lastChange(scope: Scope): Promise<Date | undefined>;
  /** Live rows of the scope. */
  size(scope: Scope): Promise<number>;
  /** The scope's parent row is there and not deleted; true for a scope without parent. */
  isThere(scope: Scope): Promise<boolean>;
  /** Forgets hints of other collections than these. @throws LeaseLost */
  forgetOthers(mirrored: readonly CollectionName[]): Promise<void>;
  /** @param judge gets the database's time @throws LeaseLost */
  update(scope: Scope, judge: (now: Date) => HintUpdate): Promise<void>;
}

/** Hints of one scope that are read together at most: two pages of rows. */
const TOGETHER = 1_000;

export function createHintStore(db: Db, fence: Fence): HintStore {
  return {
    next: (among, except) => nextHint(db, fence.userId, among, except),
    due: (scope) => dueHints(db, scope, TOGETHER),
    rows: (scope, keys) => rowsOf(db, scope, keys),
    lastChange: (scope) => lastChange(db, scope),
    size: (scope) => liveCount(db, scope),
    isThere: async (scope) => {
      const parent = parentOf(scope);
      if (parent === undefined) return true;
      return (await rowsOf(db, parent.scope, [parent.key])).get(parent.key)?.live === true;
    },
    forgetOthers: (mirrored) => fenced(db, fence, (trx) => forgetOtherHints(trx, fence.userId, mirrored)),
    update: (scope, judge) => fenced(db, fence, (trx, now) => updateHints(trx, scope, judge(now))),
  };
}

async function rowsOf(db: Db, scope: Scope, keys: readonly string[]): Promise<ReadonlyMap<string, RowState>> {
  const table = tableOf(db.schema, scope.collection);
  if (table.key === undefined || keys.length === 0) return new Map();
  const rows = await readAccount(
    db,
    scope.userId,
    sql<{ key: string } & RowState>`
    select ${keyColumn(table)}::text as key, t._change_id as "changeId", t._changed_at as "changedAt",
      t._deleted_at is null as live
    from ${dataTable(table)} as t
    where ${inScope(table, scope)} and ${keyColumn(table)} = any(${[...keys]}::${keyTypeName(table)}[])`,
  );
  return new Map(rows.map((row) => [row.key, row]));
}

async function lastChange(db: Db, scope: Scope): Promise<Date | undefined> {
  const table = tableOf(db.schema, scope.collection);
  // Of one list among many all rows are read: the index of changes would lead through the changes of all lists.
  const newest =
    table.parent === undefined
      ? sql`t._changed_at as at from ${dataTable(table)} as t where ${inScope(table, scope)} order by t._change_id desc limit 1`
      : sql`max(t._changed_at) as at from ${dataTable(table)} as t where ${inScope(table, scope)}`;
  const { rows } = await db.sql<{ at: Date | null }>`select ${newest}`;
  return rows[0]?.at ?? undefined;
}

/** The scope's parent row. */
function parentOf({
  userId,
  collection: name,
  parent: key,
}: Scope): { scope: Scope; key: string } | undefined {
  const found = collection(name);
  if (found.kind !== 'list' || found.parent === undefined) return undefined;
  return { scope: { userId, collection: found.parent.collection, parent: '' }, key };
}
