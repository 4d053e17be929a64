import { databaseTime, type Db } from '../postgres/db.ts';
import { recordFreed } from '../service/budget-store.ts';
import { type Fence, fenced } from '../postgres/fenced.ts';
import { suspectsOf, suspectScopes } from '../mirror/suspect-store.ts';
import { liveCount, nthNewest, predecessor, unfinishedRows } from '../mirror/live-rows.ts';
import { correctCounters, driftOf } from '../mirror/counters.ts';
import { suspectItemsOfNoList } from '../mirror/delete-rows.ts';
import { saveCollection } from '../mirror/sync-log.ts';
import { liveKeysMissing } from '../mirror/live-rows.ts';
import {
  dueScopes,
  type DueScopesQuery,
  failingScopes,
  listsAsOf,
  openScope,
} from '../mirror/scope-store.ts';
import type { CollectionChange } from '../model/sync-events.ts';
import { collection, type CollectionName, type ListCollection, type Scope } from '../model/collections.ts';
import { correctedRuns, type RunsAfter } from './schedule.ts';
import type { ListDirection } from '../walk/order.ts';

/** What readings of an account look up in Postgres, and store apart from pages. */
export type AccountStore = ReturnType<typeof createAccountStore>;

/** How a collection stands. */
export interface Standing {
  /** Rows in the mirror that are not deleted. */
  readonly liveRows: number;
  /** Proven deletions that the brake blocks. */
  readonly held: number;
  /** Proven deletions that Postgres refuses. */
  readonly refused: number;
  /** Rows whose newest version Postgres refuses. */
  readonly stale: number;
  /** As of when everything, deletions included, is mirrored; undefined: of no moment yet. */
  readonly completeAsOf: Date | undefined;
}

export type DueScopesBounds = Omit<DueScopesQuery, 'userId' | 'collection'>;

export function createAccountStore(db: Db, fence: Fence) {
  const { userId } = fence;
  return {
    openScope: (scope: Scope) => openScope(db, scope),
    dueScopes: ({ name }: ListCollection, due: DueScopesBounds) =>
      dueScopes(db, { userId, collection: name, ...due }),
    predecessor: async (scope: Scope, direction: ListDirection, of: string, nth: number) =>
      (await predecessor(db, scope, direction, of, nth)) ?? null,
    nthNewest: async (scope: Scope, nth: number) => (await nthNewest(db, scope, nth)) ?? null,
    liveRows: (scope: Scope) => liveCount(db, scope),
    unfinishedRows: (scope: Scope, changedSince: Date) => unfinishedRows(db, scope, changedSince),
    saveCollection: (name: CollectionName, change: CollectionChange) =>
      fenced(db, fence, (trx, now) => saveCollection(trx, userId, name, change, now)),
    suspectsOf: (scope: Scope) => suspectsOf(db, scope),
    suspectScopes: (name: CollectionName) => suspectScopes(db, userId, name),
    liveKeysMissing: (scope: Scope, seen: (key: string) => boolean) => liveKeysMissing(db, scope, seen),
    /** Counts the collection's rows, puts its counters right, and suspects items of lists that there are not. */
    recount: async (name: CollectionName) => {
      const drift = await driftOf(db, userId, name);
      const found = collection(name);
      const lists = found.kind === 'list' && found.parent !== undefined ? found : undefined;
      if (lists === undefined && [drift.live, drift.deleted, ...drift.scopes.values()].every((n) => n === 0))
        return;
      await fenced(db, fence, async (trx, now) => {
        await correctCounters(trx, userId, name, drift, now);
        if (lists !== undefined) await suspectItemsOfNoList(trx, userId, lists, now);
      });
    },
    /**
     * Stores what a reading of lists says of their collection, and as of when all of them are mirrored. In one
     * transaction: the collection says what its lists say, whatever happens to the database.
     * @param judge gets in one sentence why lists could not be read last; undefined: all were read
     */
    saveLists: (lists: ListCollection, judge: (failing: string | undefined) => CollectionChange) =>
      fenced(db, fence, async (trx, now) => {
        const { name } = lists;
        const { polledAt, completeAsOf } = await listsAsOf(trx, userId, lists);
        const { count, latest } = await failingScopes(trx, userId, name);
        const failing = count < 2 ? latest : `${count} lists could not be read, the last one: ${latest}`;
        const change = {
          ...(polledAt === undefined ? {} : { polledAt }),
          ...(completeAsOf === undefined ? {} : { completeAsOf }),
          ...judge(failing),
        };
        await saveCollection(trx, userId, name, change, now);
      }),
    standingOf: async (name: CollectionName): Promise<Standing> => {
      const { rows } = await db.sql<Omit<Standing, 'completeAsOf'> & { completeAsOf: Date | null }>`
        select c.live_rows::float8 as "liveRows", c.held_deletions::float8 as held, c.complete_as_of as "completeAsOf",
          (select count(*)::float8 from ${db.stateTable('candidate')} as d
           where d._user_id = c._user_id and d.collection = c.collection and d.refused_at is not null) as refused,
          (select count(*)::float8 from ${db.table('stale_rows')} as s
           where s._user_id = c._user_id and s.collection = c.collection) as stale
        from ${db.table('_collections')} as c where c._user_id = ${userId}::bigint and c.collection = ${name}`;
      const [row = { liveRows: 0, held: 0, refused: 0, stale: 0, completeAsOf: null }] = rows;
      return { ...row, completeAsOf: row.completeAsOf ?? undefined };
    },
    /** The database’s clock. */
    now: () => databaseTime(db),
    /** The account’s own state: stopped while its keys are refused. */
    saveState: (state: 'active' | 'stopped', error: string | null) =>
      fenced(db, fence, async (trx) => {
        const account = trx.state.updateTable('account').set({ state, error });
        await account.where('_user_id', '=', userId).execute();
      }),
    /**
     * Corrects the stored next runs of the collections that this process mirrors (`correctedRuns`).
     * @param after the cron lines' next runs
     */
    correctRuns: async (names: readonly CollectionName[], after: RunsAfter): Promise<void> => {
      const now = await databaseTime(db);
      const rows = await db.mirror
        .selectFrom('_collections')
        .select(['collection', 'next_poll_at', 'next_full_at', 'paused_at'])
        .where('_user_id', '=', userId)
        .execute();
      const stored = new Map(
        rows.map((row) => [
          row.collection,
          { nextPollAt: row.next_poll_at, nextFullAt: row.next_full_at, paused: row.paused_at !== null },
        ]),
      );
      const changes = correctedRuns(names, stored, (name) => after(name, now));
      if (changes.size === 0) return;
      await fenced(db, fence, async (trx, at) => {
        for (const [name, moments] of changes)
          await saveCollection(trx, userId, name, { ...moments, pausedAt: null }, at);
      });
    },
    recordFreed: recordFreed(userId),
  };
}
