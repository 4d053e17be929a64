import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import { readAccount } from '../../db/ownership/account-plans.ts';
import { fenced } from '../../db/ownership/fenced.ts';
import { nextHints, updateHints, type StoredHint } from '../../db/events/hint-store.ts';
import { keyColumn, inScope, dataTable, tableOf, keyTypeName } from '../../mirror/table.ts';
import { liveCount } from '../../mirror/page/known-rows.ts';
import type { CollectionName, Scope } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';
import { judgeHint } from './hint-rules.ts';

export type HintStore = ReturnType<typeof createHintStore>;

/** The queue of an account's hints, and what the mirror has of the hinted rows. */
export function createHintStore(db: Db, fence: Fence) {
  return {
    /** The scope whose hint is due first, among these collections and except these scopes, with its due hints. */
    next: (among: readonly CollectionName[], except: readonly Scope[]) =>
      nextHints(db, fence.userId, among, except),
    /** Those of the keys whose rows are live. */
    live: async (scope: Scope, keys: readonly string[]) =>
      new Set((await rowsOf(db, scope, keys)).filter(({ live }) => live).map(({ key }) => key)),
    /** Live rows of the scope. */
    size: (scope: Scope) => liveCount(db, scope),
    /** Removes hints whose rows were read, or puts them off: see `judgeHint`. @throws LeaseLost */
    settle: async (scope: Scope, hints: readonly StoredHint[]) => {
      const rows = await rowsOf(
        db,
        scope,
        hints.map(({ key }) => key),
      );
      const changedAt = new Map<string, Date | undefined>(rows.map((row) => [row.key, row.changedAt]));
      if (hints.some(({ key }) => key === '')) changedAt.set('', await lastChange(db, scope));
      await fenced(db, fence, (trx, now) => {
        const judged = hints.map((hint) => ({
          ...hint,
          dueAt: judgeHint(hint, changedAt.get(hint.key), now),
        }));
        return updateHints(trx, scope, judged);
      });
    },
  };
}

/** The rows that the mirror has, deleted ones too. The key '' names none. */
async function rowsOf(
  db: Db,
  scope: Scope,
  named: readonly string[],
): Promise<{ readonly key: string; readonly changedAt: Date; readonly live: boolean }[]> {
  const table = tableOf(db.schema, scope.collection);
  const keys = named.filter((key) => key !== '');
  if (table.key === undefined || keys.length === 0) return [];
  return readAccount(
    db,
    scope.userId,
    sql`
    select ${keyColumn(table)}::text as key, t._changed_at as "changedAt", t._deleted_at is null as live
    from ${dataTable(table)} as t
    where ${inScope(table, scope)} and ${keyColumn(table)} = any(${keys}::${keyTypeName(table)}[])`,
  );
}

/** When a row of the scope changed last. */
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
