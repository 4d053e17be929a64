import type { Db } from '../../db/connection/db.ts';
import { type RecordFreed, recordFreed } from '../../db/budget/budget-store.ts';
import { databaseTime } from '../../db/connection/database-time.ts';
import { fenced } from '../../db/ownership/fenced.ts';
import { suspectsOf, type SuspectScope, suspectScopes } from '../../mirror/deletion/stored-suspects.ts';
import {
  liveCount,
  nthNewest,
  predecessor,
  type UnfinishedRow,
  unfinishedRows,
} from '../../mirror/page/known-rows.ts';
import { correctCounters, driftOf } from '../../mirror/rows/counters.ts';
import { suspectItemsOfNoList } from '../../mirror/deletion/delete-list.ts';
import { saveCollection } from '../../mirror/scope/log-walk.ts';
import { liveKeysMissing } from '../../mirror/deletion/missing-rows.ts';
import { listsAsOf } from '../../mirror/scope/lists-as-of.ts';
import {
  dueScopes,
  type DueScopesQuery,
  failingScopes,
  needOfScopes,
  openScope,
  type ScopeOrder,
  type ScopesNeed,
  type StoredScope,
} from '../../mirror/scope/scope-store.ts';
import type { CollectionChange } from '../../mirror/scope/walk-end.ts';
import type { SuspectedDeletion, MissingRow } from '../../model/absence.ts';
import { collection, type CollectionName, type ListCollection, type Scope } from '../../model/collections.ts';
import type { Fence } from '../../model/fence.ts';
import { LONGEST_MS, PRIOR_MS } from '../../plan/change-rate.ts';
import type { ListDirection } from '../../walk/memory/order.ts';

/** What readings look up in Postgres, and store apart from pages. */
export interface AccountStore {
  openScope(scope: Scope): Promise<StoredScope>;
  dueScopes(lists: ListCollection, due: DueScopesBounds): Promise<StoredScope[]>;
  /** How many scopes the collection has, what one reading of each takes, and Σ √(k·q·λ) of them. */
  needOfScopes(lists: ListCollection): Promise<ScopesNeed>;
  predecessor(scope: Scope, direction: ListDirection, of: string, nth: number): Promise<string | null>;
  nthNewest(scope: Scope, nth: number): Promise<string | null>;
  liveRows(scope: Scope): Promise<number>;
  unfinishedRows(scope: Scope, changedSince: Date): Promise<UnfinishedRow[]>;
  saveCollection(name: CollectionName, change: CollectionChange): Promise<void>;
  /** The scope's suspected deletions. */
  suspectsOf(scope: Scope): Promise<SuspectedDeletion[]>;
  /** The collection's scopes with suspects; first those that are due first. */
  suspectScopes(name: CollectionName): Promise<SuspectScope[]>;
  /** Live rows that were not seen. */
  liveKeysMissing(scope: Scope, seen: (key: string) => boolean): Promise<MissingRow[]>;
  /** Counts the collection's rows, puts its counters right, and suspects items of lists that there are not. */
  recount(name: CollectionName): Promise<void>;
  /**
   * Stores what a reading of lists says of their collection, and as of when all of them are mirrored.
   * @param judge gets in one sentence why lists could not be read last; undefined: all were read
   */
  saveLists(lists: ListCollection, judge: (failing: string | undefined) => CollectionChange): Promise<void>;
  standingOf(name: CollectionName): Promise<Standing>;
  /** The database's clock. */
  now(): Promise<Date>;
  /** The account's own state: stopped while its keys are refused. */
  saveState(state: 'active' | 'stopped', error: string | null): Promise<void>;
  /** When each collection is to be read next, as last stored. */
  scheduledRuns(): Promise<ReadonlyMap<string, ScheduledRuns>>;
  /** Stores it for the collections that this process mirrors. */
  scheduleRuns(next: ReadonlyMap<CollectionName, Omit<ScheduledRuns, 'paused'>>): Promise<void>;
  readonly recordFreed: RecordFreed;
}

/** When a collection is to be read next; null: never. */
export interface ScheduledRuns {
  readonly nextPollAt: Date | null;
  readonly nextFullAt: Date | null;
  /** Nobody was asked to mirror it. */
  readonly paused: boolean;
}

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

export interface DueScopesBounds {
  /** Scopes read since then are left out, unless they came due again. */
  readonly notReadSince: Date;
  /** Only full walks count as such reads. */
  readonly fully: boolean;
  readonly except: readonly string[];
  /** As long as there are others, those read since then come, too. */
  readonly again: boolean;
  readonly limit: number;
  readonly now: Date;
  readonly first: ScopeOrder['first'];
  readonly resting: DueScopesQuery['resting'];
  readonly announced: DueScopesQuery['announced'];
}

/** Of lists, and of those with unfinished rows. */
const PRIORS = { priorMs: PRIOR_MS.list, unfinishedPriorMs: PRIOR_MS.collection } as const;

export function createAccountStore(db: Db, fence: Fence): AccountStore {
  const { userId } = fence;
  return {
    openScope: (scope) => openScope(db, scope),
    dueScopes: (lists, { now, first, ...due }) =>
      dueScopes(db, {
        userId,
        collection: lists.name,
        ...due,
        order: {
          now,
          first,
          longestMs: LONGEST_MS,
          ...PRIORS,
        },
      }),
    needOfScopes: ({ name }) => needOfScopes(db, { userId, collection: name, ...PRIORS }),
    predecessor: async (scope, direction, of, nth) =>
      (await predecessor(db, scope, direction, of, nth)) ?? null,
    nthNewest: async (scope, nth) => (await nthNewest(db, scope, nth)) ?? null,
    liveRows: (scope) => liveCount(db, scope),
    unfinishedRows: (scope, changedSince) => unfinishedRows(db, scope, changedSince, changedSince),
    saveCollection: (name, change) =>
      fenced(db, fence, (trx, now) => saveCollection(trx, userId, name, change, now)),
    suspectsOf: (scope) => suspectsOf(db, scope),
    suspectScopes: (name) => suspectScopes(db, userId, name),
    liveKeysMissing: (scope, seen) => liveKeysMissing(db, scope, seen),
    recount: async (name) => {
      const drift = await driftOf(db, userId, name);
      const found = collection(name);
      await fenced(db, fence, async (trx, now) => {
        await correctCounters(trx, userId, name, drift, now);
        if (found.kind === 'list' && found.parent !== undefined)
          await suspectItemsOfNoList(trx, userId, found, now);
      });
    },
    // In one transaction: the collection says what its lists say, whatever happens to the database.
    saveLists: (lists, judge) =>
      fenced(db, fence, async (trx, now) => {
        const { polledAt, completeAsOf } = await listsAsOf(trx, userId, lists);
        const { count, latest } = await failingScopes(trx, userId, lists.name);
        const failing = count < 2 ? latest : `${count} lists could not be read, the last one: ${latest}`;
        await saveCollection(
          trx,
          userId,
          lists.name,
          {
            ...(polledAt === undefined ? {} : { polledAt }),
            ...(completeAsOf === undefined ? {} : { completeAsOf }),
            ...judge(failing),
          },
          now,
        );
      }),
    standingOf: async (name) => {
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
    now: () => databaseTime(db),
    saveState: (state, error) =>
      fenced(db, fence, async (trx) => {
        const account = trx.state.updateTable('account').set({ state, error });
        await account.where('_user_id', '=', userId).execute();
      }),
    scheduledRuns: async () => {
      const rows = await db.mirror
        .selectFrom('_collections')
        .select(['collection', 'next_poll_at', 'next_full_at', 'paused_at'])
        .where('_user_id', '=', userId)
        .execute();
      return new Map(
        rows.map((row) => [
          row.collection,
          { nextPollAt: row.next_poll_at, nextFullAt: row.next_full_at, paused: row.paused_at !== null },
        ]),
      );
    },
    scheduleRuns: (next) =>
      fenced(db, fence, async (trx, now) => {
        for (const [name, moments] of next)
          await saveCollection(trx, userId, name, { ...moments, pausedAt: null }, now);
      }),
    recordFreed: recordFreed(userId),
  };
}
