import type { Db } from '../postgres/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { SET_MOMENTS } from '../model/collection-columns.ts';
import { laterOf } from './scope-store.ts';
import type { CollectionChange, Keeps, WalkEnd } from '../model/sync-events.ts';
import { type Fence, pruneInBatches } from '../postgres/fenced.ts';

/** Writes the row of `sync_log` for a walk that has ended, and what it means for the collection's freshness. */
export async function logWalk(trx: Db, end: WalkEnd, at: Date): Promise<void> {
  if (end.unlogged !== true) await insertRow(trx, end, at);
  if (end.collection !== undefined) {
    await saveCollection(trx, end.scope.userId, end.scope.collection, end.collection, at);
  }
}

async function insertRow(trx: Db, end: WalkEnd, at: Date): Promise<void> {
  const { scope, totals } = end;
  const { rows } = await trx.sql<{ walkId: string }>`
    update ${trx.stateTable('account')} set walk_id = walk_id + 1
    where _user_id = ${scope.userId}::bigint returning walk_id as "walkId"`;
  const walkId = rows[0]?.walkId;
  if (walkId === undefined) throw new Error(`account ${scope.userId} has no row`);
  // Only lists are parents so far, and their key is the column list_id.
  const listId = scope.parent === '' ? null : scope.parent;
  await trx.sql`
    insert into ${trx.table('sync_log')} (_user_id, walk_id, collection, list_id, kind, started_at, ended_at,
      outcome, pages, items, inserted, updated, deleted, unchanged, quarantined, requests, rate_limited, error)
    values (${scope.userId}::bigint, ${walkId}::bigint, ${scope.collection}, ${listId}::bigint, ${end.kind},
      ${end.startedAt}, ${at}::timestamptz, ${end.outcome}, ${totals.pages}, ${totals.items}, ${totals.inserted},
      ${totals.updated}, ${totals.deleted}, ${totals.unchanged}, ${totals.quarantined}, ${totals.requests},
      ${totals.rateLimited}, ${end.error ?? null})`;
}

/** Stores changes of a collection's row in `freshness`. @param now by the database's clock */
export async function saveCollection(
  trx: Db,
  userId: string,
  collection: string,
  change: CollectionChange,
  now: Date,
): Promise<void> {
  const moments = [
    ...SET_MOMENTS.map(({ column, field }) => [column, change[field]] as const),
    ['reading_at', change.readingAt],
    ['paused_at', change.pausedAt],
    ['last_error_at', change.failure?.at],
    ['failing_since', change.failure === null ? null : change.failure?.at],
  ] as const;
  const values = new Map<string, RawBuilder<unknown>>();
  for (const [column, moment] of moments) {
    if (moment !== undefined) values.set(column, sql`${moment}::timestamptz`);
  }
  if (change.failure !== undefined) values.set('last_error', sql`${change.failure?.message ?? null}::text`);
  if (values.size === 0 && change.state === undefined) return;
  const columns = [...values.keys()].map((name) => sql.id(name));
  const set = [...values.keys()].map((name) => assignment(name, change.keeps, now));
  const state = change.state === 'failing' ? 'failing' : change.polledAt === undefined ? 'new' : 'current';
  // A collection is new until it was read to its end once, and current from then on: lists are read one by one, and
  // any of them may be the last one. A failure stays until a reading ends well.
  const staysFailing = change.state === undefined;
  await trx.sql`
    insert into ${trx.table('_collections')} as c (${sql.join([sql`_user_id, collection, state`, ...columns])})
    values (${sql.join([sql`${userId}::bigint, ${collection}, ${state}`, ...values.values()])})
    on conflict (_user_id, collection) do update
    set ${sql.join([
      ...set,
      sql`state = case
        when excluded.state = 'failing' or ${staysFailing} and c.state = 'failing' then 'failing'
        when coalesce(excluded.polled_at, c.polled_at) is null then 'new' else 'current' end`,
    ])}`;
}

/** What an existing row gets: runs that became due during the reading stay, as does a later `complete_as_of`. */
function assignment(name: string, keeps: Keeps | undefined, now: Date): RawBuilder<unknown> {
  const column = sql.id(name);
  if (name === 'failing_since') {
    // Of several failures in a row it is the first.
    return sql`${column} = case when c.state = 'failing' and excluded.failing_since is not null
      then coalesce(c.failing_since, excluded.failing_since) else excluded.failing_since end`;
  }
  if (name === 'complete_as_of') {
    return sql`${column} = ${laterOf(sql.id('c', name), sql`excluded.complete_as_of`, now)}`;
  }
  if (keeps === undefined || !name.startsWith('next_')) return sql`${column} = excluded.${column}`;
  const stored = sql.id('c', name);
  return sql`${column} = case
    when ${stored} > ${keeps.begun}::timestamptz and ${stored} <= ${keeps.ended}::timestamptz then ${stored}
    else excluded.${column} end`;
}

/** How long polls of one list that found nothing are kept (ms): there may be fifty a minute. */
const QUIET_LIST_MS = 86_400_000;

/**
 * Removes the account's rows of `sync_log` that are older than `keepMs`, a batch at a time.
 * @param signal ends it after the batch in hand; the next call goes on
 */
export async function pruneLog(db: Db, fence: Fence, keepMs: number, signal: AbortSignal): Promise<void> {
  const rows = { table: db.table('sync_log'), key: 'walk_id' };
  await pruneInBatches(
    db,
    fence,
    rows,
    signal,
    (
      before,
    ) => sql`started_at < ${before(Math.min(keepMs, QUIET_LIST_MS))} and (started_at < ${before(keepMs)}
      or list_id is not null and inserted + updated + deleted + quarantined = 0 and error is null)`,
  );
}
