/** Two stores beside the pages: how an account's collections stand, and whose its keys are. */

import { correctCounters, driftOf } from '../mirror/counters.ts';
import { suspectItemsOfNoList } from '../mirror/delete-rows.ts';
import { liveCount, liveKeysMissing, nthNewest, predecessor, unfinishedRows } from '../mirror/live-rows.ts';
import {
  type CompleteScope,
  dueScopes,
  failingScopes,
  listsAsOf,
  openScope,
  saveComplete,
} from '../mirror/scope-store.ts';
import { suspectScopes, suspectsOf } from '../mirror/suspect-store.ts';
import { saveCollection } from '../mirror/sync-log.ts';
import { collection, type CollectionName, type ListCollection, type Scope } from '../model/collections.ts';
import type { CollectionChange } from '../model/sync-events.ts';
import { rememberMoved, rememberProof, setOrigin } from '../postgres/accounts.ts';
import { databaseTime, type Db } from '../postgres/db.ts';
import { type Fence, fenced } from '../postgres/fenced.ts';
import { recordFreed } from '../service/budget-store.ts';
import type { ListDirection } from '../walk/memory.ts';
import { forgetConclusions, forgetReadings } from './recheck.ts';
import { correctedRuns, type RunsAfter } from './schedule.ts';

/** What readings of an account look up in Postgres, and store apart from pages. */
export type AccountStore = ReturnType<typeof createAccountStore>;

/** How a collection stands. */
export type Standing = Awaited<ReturnType<AccountStore['standingOf']>>;

export function createAccountStore(db: Db, fence: Fence) {
  const { userId } = fence;
  return {
    openScope: (scope: Scope) => openScope(db, scope),
    dueScopes: ({ name }: ListCollection, due: Omit<Parameters<typeof dueScopes>[1], 'userId' | 'collection'>) =>
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
    /** Counts the collection's rows, corrects its counters, and suspects items of lists that do not exist. */
    recount: async (name: CollectionName) => {
      const drift = await driftOf(db, userId, name);
      const found = collection(name);
      const lists = found.kind === 'list' && found.parent !== undefined ? found : undefined;
      if (lists === undefined && [drift.live, drift.deleted, ...drift.scopes.values()].every((n) => n === 0)) return;
      await fenced(db, fence, async (trx, now) => {
        await correctCounters(trx, userId, name, drift, now);
        if (lists !== undefined) await suspectItemsOfNoList(trx, userId, lists, now);
      });
    },
    /**
     * Stores what a reading of lists says of their collection, and as of when all of them are mirrored.
     * @param judge gets in one sentence why lists could not be read last; undefined: all were read
     */
    saveLists: (lists: ListCollection, judge: (failing: string | undefined) => CollectionChange) =>
      fenced(db, fence, async (trx, now) => {
        const { name } = lists;
        const { polledAt, completeAsOf } = await listsAsOf(trx, userId, lists);
        const { count, latest } = await failingScopes(trx, userId, name);
        const failing = count < 2 ? latest : `${count} lists could not be read, the last one: ${latest}`;
        const asOf = { ...(polledAt && { polledAt }), ...(completeAsOf && { completeAsOf }) };
        await saveCollection(trx, userId, name, { ...asOf, ...judge(failing) }, now);
      }),
    standingOf: async (name: CollectionName) => {
      const none = {
        /** Rows in the mirror that are not deleted. */
        liveRows: 0,
        /** Proven deletions that the brake blocks. */
        held: 0,
        /** Proven deletions that Postgres refuses. */
        refused: 0,
        /** Rows whose newest version Postgres refuses. */
        stale: 0,
        /** As of when everything, deletions included, is mirrored; null: not known. */
        completeAsOf: null as Date | null,
      };
      const { rows } = await db.sql<typeof none>`
        select c.live_rows::float8 as "liveRows", c.held_deletions::float8 as held, c.complete_as_of as "completeAsOf",
          (select count(*)::float8 from ${db.stateTable('candidate')} as d
           where d._user_id = c._user_id and d.collection = c.collection and d.refused_at is not null) as refused,
          (select count(*)::float8 from ${db.table('stale_rows')} as s
           where s._user_id = c._user_id and s.collection = c.collection) as stale
        from ${db.table('_collections')} as c where c._user_id = ${userId}::bigint and c.collection = ${name}`;
      const { completeAsOf, ...row } = rows[0] ?? none;
      return { ...row, completeAsOf: completeAsOf ?? undefined };
    },
    now: () => databaseTime(db),
    /** Stores the account's state: stopped while its keys are refused. */
    saveState: (state: 'active' | 'stopped', error: string | null) =>
      fenced(db, fence, async (trx) => {
        const account = trx.state.updateTable('account').set({ state, error });
        await account.where('_user_id', '=', userId).execute();
      }),
    /** Corrects the stored next runs of the collections that this process mirrors. @param after the cron lines' runs */
    correctRuns: async (names: readonly CollectionName[], after: RunsAfter) => {
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

export type OwnershipStore = ReturnType<typeof createOwnershipStore>;

/** Stores what proofs say of an account's keys. @param origin the configured service's address, also stored */
export function createOwnershipStore(db: Db, fence: Fence, origin: string) {
  const { userId } = fence;
  let isAdopted = false;
  return {
    /** The key is the account's. @param agoMs how long ago the proof was sent */
    proven: async (keyHash: string, agoMs: () => number) => {
      await fenced(db, fence, async (trx, now) => {
        await rememberProof(trx, keyHash, new Date(now.getTime() - agoMs()));
        if (!isAdopted) await setOrigin(trx, userId, origin);
      });
      isAdopted = true;
    },
    /** Stores as of when scopes are complete, and their collections with them. */
    complete: (claims: readonly CompleteScope[]) =>
      fenced(db, fence, async (trx, now) => {
        const complete = await saveComplete(trx, userId, claims, now);
        for (const { scope, completeAsOf } of complete.filter((each) => each.scope.parent === ''))
          await saveCollection(trx, userId, scope.collection, { completeAsOf }, now);
        // A collection of lists is complete as of the earliest of them.
        const many = complete.filter(({ scope }) => scope.parent !== '').map(({ scope }) => scope.collection);
        for (const name of new Set(many)) {
          const lists = collection(name);
          if (lists.kind !== 'list') continue;
          const { completeAsOf } = await listsAsOf(trx, userId, lists);
          if (completeAsOf !== undefined) await saveCollection(trx, userId, name, { completeAsOf }, now);
        }
      }),
    /** The key answered for `owner`: stops the account. @returns the reason, with the remedy */
    contradicted: (keyHash: string, owner: string) =>
      fenced(db, fence, async (trx, now) => {
        const why = await rememberMoved(trx, keyHash, userId, owner);
        await forgetReadings(trx, userId, now);
        const account = trx.state.updateTable('account').set({ state: 'stopped', error: why });
        await account.where('_user_id', '=', userId).execute();
        return why;
      }),
    /** Forgets conclusions from answers that will never be proven. */
    distrust: () => fenced(db, fence, (trx) => forgetConclusions(trx, userId)),
  };
}
