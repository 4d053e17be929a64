import type { Db } from '../postgres/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { SET_MOMENTS } from '../model/collection-columns.ts';
import { laterOf } from './scope-store.ts';
import type { CollectionChange, WalkEnd } from '../model/sync-events.ts';
import { type Fence, pruneInBatches } from '../postgres/fenced.ts';

/** Writes the `sync_log` row of a walk that has ended, and its change of the collection's freshness. */
export async function logWalk(trx: Db, end: WalkEnd, at: Date): Promise<void> {
  if (end.unlogged !== true) await insertRow(trx, end, at);
  if (end.collection !== undefined) {
    await saveCollection(trx, end.scope.userId, end.scope.collection, end.collection, at);
  }
}

async function insertRow(trx: Db, { scope, totals, ...end }: WalkEnd, at: Date): Promise<void> {
  const { rows } = await trx.sql<{ walkId: string }>`
    update ${trx.stateTable('account')} set walk_id = walk_id + 1
    where _user_id = ${scope.userId}::bigint returning walk_id as "walkId"`;
  const walkId = rows[0]?.walkId;
  if (walkId === undefined) throw new Error(`account ${scope.userId} has no row`);
  // Lists are the only parents; their key is the column list_id.
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
  // A collection is new until it was read completely once, and current from then on: lists are read one by one, in any
  // order. A failure stays until a reading succeeds.
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

/** New value of a column in an existing row. Runs that came due meanwhile stay, as does a later `complete_as_of`. */
function assignment(name: string, keeps: CollectionChange['keeps'], now: Date): RawBuilder<unknown> {
  const column = sql.id(name);
  if (name === 'failing_since') {
    // The first of several failures in a row.
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

/** Retention of a list's polls that found nothing, ms: there may be fifty a minute. */
const QUIET_LIST_MS = 86_400_000;

/**
 * Removes the account's rows of `sync_log` older than `keepMs`, a batch at a time.
 * @param signal stops after the current batch; the next call continues
 */
export async function pruneLog(db: Db, fence: Fence, keepMs: number, signal: AbortSignal): Promise<void> {
  const rows = { table: db.table('sync_log'), key: 'walk_id' };
  const quietMs = Math.min(keepMs, QUIET_LIST_MS);
  await pruneInBatches(db, fence, rows, signal, (before) => {
    return sql`started_at < ${before(quietMs)} and (started_at < ${before(keepMs)}
      or list_id is not null and inserted + updated + deleted + quarantined = 0 and error is null)`;
  });
}
