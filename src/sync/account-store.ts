import type { Kysely } from 'kysely';
import { type RecordFreed, recordFreed } from '../db/budget-store.ts';
import { fenced } from '../db/fenced.ts';
import { mirrorTables, syncTables } from '../db/tables.ts';
import {
  type Direction,
  liveCount,
  nthNewest,
  predecessor,
  type UnsettledRow,
  unsettledRows,
} from '../mirror/known-rows.ts';
import { saveCollection } from '../mirror/log-walk.ts';
import { dueScopes, leastPolledAt, openScope, type StoredScope } from '../mirror/scope-store.ts';
import type { CollectionChange } from '../mirror/walk-end.ts';
import { type CollectionName, type ListCollection, parentsOf, type Scope } from '../model/collections.ts';
import type { Fence } from '../model/fence.ts';

/** What walks ask of an account's rows in Postgres, and what is stored beside pages. */
export interface AccountStore {
  openScope(scope: Scope): Promise<StoredScope>;
  dueScopes(lists: ListCollection, due: DueScopes): Promise<StoredScope[]>;
  predecessor(scope: Scope, direction: Direction, of: string, nth: number): Promise<string | null>;
  nthNewest(scope: Scope, nth: number): Promise<string | null>;
  liveRows(scope: Scope): Promise<number>;
  unsettledRows(scope: Scope, changedSince: Date): Promise<UnsettledRow[]>;
  saveCollection(name: CollectionName, change: CollectionChange): Promise<void>;
  /**
   * As of when new and unsettled rows of all lists are mirrored: the least over the lists that are not deleted, and
   * not later than the lists themselves were polled. Undefined while one of them was never read.
   */
  listsPolledAt(lists: ListCollection): Promise<Date | undefined>;
  /** The account's own state: stopped while its keys are refused. */
  saveState(state: 'active' | 'stopped', error: string | null): Promise<void>;
  /** When each collection's next full walk was to begin, as last stored. */
  promisedFullWalks(): Promise<ReadonlyMap<string, Date>>;
  readonly recordFreed: RecordFreed;
}

export interface DueScopes {
  /** Scopes read since then are left out, unless they have come due again. */
  readonly notReadSince: Date;
  /** By full walks, not by any read. */
  readonly fully: boolean;
  readonly except: readonly string[];
  readonly limit: number;
}

export function createAccountStore(db: Kysely<unknown>, schema: string, fence: Fence): AccountStore {
  const { userId } = fence;
  return {
    openScope: (scope) => openScope(db, schema, scope),
    dueScopes: (lists, due) => dueScopes(db, schema, { userId, collection: lists.name, ...due }),
    predecessor: async (scope, direction, of, nth) =>
      (await predecessor(db, schema, scope, direction, of, nth)) ?? null,
    nthNewest: async (scope, nth) => (await nthNewest(db, schema, scope, nth)) ?? null,
    liveRows: (scope) => liveCount(db, schema, scope),
    unsettledRows: (scope, changedSince) => unsettledRows(db, schema, scope, changedSince, changedSince),
    saveCollection: (name, change) =>
      fenced(db, schema, fence, (trx) => saveCollection(trx, schema, userId, name, change)),
    listsPolledAt: async (lists) => {
      const parents = parentsOf(lists);
      const parent = await mirrorTables(db, schema)
        .selectFrom('_collections')
        .select('polled_at')
        .where('_user_id', '=', userId)
        .where('collection', '=', parents.table)
        .executeTakeFirst();
      const known = parent?.polled_at ?? undefined;
      if (known === undefined) return undefined;
      const { polledAt, unread } = await leastPolledAt(db, schema, userId, lists.name);
      if (unread) return undefined;
      return polledAt === undefined || polledAt > known ? known : polledAt;
    },
    saveState: (state, error) =>
      fenced(db, schema, fence, async (trx) => {
        const account = syncTables(trx, schema).updateTable('account').set({ state, error });
        await account.where('_user_id', '=', userId).execute();
      }),
    promisedFullWalks: async () => {
      const rows = await mirrorTables(db, schema)
        .selectFrom('_collections')
        .select(['collection', 'next_full_at'])
        .where('_user_id', '=', userId)
        .execute();
      return new Map(
        rows.flatMap((row) => (row.next_full_at === null ? [] : [[row.collection, row.next_full_at]])),
      );
    },
    recordFreed: recordFreed(schema, userId),
  };
}
