/** The transaction of a page: reads what is stored, decides, writes. No HTTP; nothing here is retried. */

import { commitDurably, allSent, type Db } from '../postgres/db.ts';
import {
  type ChangedRow,
  changedRows,
  countOutcomes,
  hashesOf,
  outcomesOf,
  type PageRecord,
  type PageResult,
  type SortedPage,
  type StoredRow,
  withoutForgotten,
} from './page-record.ts';
import { logWalk } from './sync-log.ts';
import { readAbsence, saveSuspects } from './suspect-store.ts';
import { forgottenAmong } from './live-rows.ts';
import { NO_ROWS_SENT, type PageContext, rehashSame, writeChanged } from './write-changed.ts';
import { decide } from './page-decision.ts';
import { forgetUnseen, updateQuarantine } from './quarantine.ts';
import { unlessRefused } from './write-carefully.ts';
import { saveScope } from './scope-store.ts';
import { type Table, dataTable, hasKey, inScope, keyTypeName, ofScope } from './table.ts';
import type { Scope } from '../model/collections.ts';
import { isCopy, type Item } from '../model/page.ts';
import { HAPPENED_AHEAD_MS, unlessAhead } from '../postgres/clock-step.ts';
import { sql } from 'kysely';

/**
 * Reads what is stored under a page's keys and of its scope, before it is written: one round trip, the fence included.
 * `absence` is without suspected deletions, which most scopes don't have.
 */
export async function readBefore(trx: Db, table: Table, sorted: SortedPage, { scope, taken, page }: PageRecord) {
  const keys = sorted.keyed.map(({ key }) => key);
  const [stored, absence] = await allSent(
    readStoredRows(trx, table, scope, keys),
    readAbsence(trx, table, scope, taken.proof, keysOf(page?.items ?? []), false),
  );
  return { stored, absence };
}

export type PageBefore = Awaited<ReturnType<typeof readBefore>>;

function keysOf(items: readonly Item[]): string[] {
  return [...new Set(items.flatMap(({ key }) => key ?? []))];
}

/**
 * Writes everything that a page makes true, inside the fenced transaction `trx` (docs/design/writing-a-page.md). The
 * statements are sent together, and their answers are awaited at the end.
 * @param before as read in this transaction
 * @param at time of the fence by the database's clock
 * @throws NewFields, StaleColumns: roll back and do what they say; Superseded, DatabaseWentBack
 */
export async function writePage(
  trx: Db,
  at: Date,
  context: PageContext,
  sorted: SortedPage,
  record: PageRecord,
  { stored, absence: plain }: PageBefore,
): Promise<PageResult> {
  const { table } = context;
  const { scope, taken } = record;
  const items = record.page?.items ?? [];
  // COMMIT would check the rest without naming a row.
  if (context.careful) await trx.sql`set constraints all immediate`;
  const forgotten = stored.hasForgotten ? await forgottenAmong(trx, scope, items) : undefined;
  if (stored.gone || forgotten?.parent === true) return { state: 'parent_deleted' };
  const { page, forgotten: left } = withoutForgotten(sorted, items, forgotten?.keys ?? new Set());
  const absence = stored.hasSuspects ? await readAbsence(trx, table, scope, taken.proof, keysOf(items), true) : plain;

  const sentAt = new Date(at.getTime() - (context.clock.monotonic() - record.sentAfter));
  const hashed = changedRows(page.keyed, stored.rows);
  const { rule, registry } = context;
  const rehash = () => rehashSame(trx, table, scope, hashed, stored.rows, rule, registry);
  // If Postgres refuses to rehash a row in place, all count as changed and are refused one by one.
  const same = context.careful ? await unlessRefused(trx, rehash, new Set()) : await rehash();
  const differing = hashed.filter((row) => !same.has(row));
  const early = await contradicting(trx, at, sentAt, context, record, differing, stored.rows);
  const changed = differing.filter((row) => !early.has(row));
  const { written, refused, changeId, sent } =
    changed.length === 0 ? NO_ROWS_SENT : await writeChanged(trx, at, context, scope, changed);
  // Its failure surfaces below, or in the next statement that is awaited, as a failure of the transaction.
  sent.catch(() => {});
  if (stored.inQuarantine || page.bad.length > 0) await sent;
  const good = stored.inQuarantine ? goodKeys(page, [...early, ...refused]) : [];
  const quarantined = await updateQuarantine(trx, scope, {
    items,
    bad: [...page.bad, ...refused],
    good,
    where: taken.place,
    exclude: rule.exclude,
    at: sentAt,
    gracePeriodMs: context.gracePeriodMs,
    some: stored.inQuarantine,
  });

  const outcomes = outcomesOf(items.length, page, written, [...early], refused, left);
  const counts = countOutcomes(outcomes);
  const { missing, suspects } = absence;
  const hashes = hashesOf(items.length, page);
  const observed = { outcomes, counts, at, sentAt, hashes, missing, suspects, quarantined };
  if (record.page !== undefined) record.whole?.note(record.page, hashes, (index) => outcomes[index] === 'duplicate');
  const decided = decide(record, observed, context.gracePeriodMs);
  // A copy may be older than the page that showed these rows.
  const refuted = isCopy(record.page?.served) ? [] : absence.refuted;
  const { add, prove, withdraw: sighted, withdrawOrdered } = decided.suspectChange;
  const withdraw = [...sighted, ...refuted];
  if (add.length + prove.length + withdraw.length > 0 || withdrawOrdered) {
    await sent;
    // A crash that undoes only the sighting would leave a live row suspected, one proof away from deletion.
    if (withdraw.length > 0) await commitDurably(trx);
    const change = { ...decided.suspectChange, withdraw };
    await saveSuspects(trx, scope, change, record.obs, at, stored.hasSuspects);
  }
  if (decided.unseen !== undefined && stored.inQuarantine) await forgetUnseen(trx, scope, decided.unseen);
  const also = record.alsoInTransaction(trx);
  const log = decided.walkEnd === undefined ? undefined : logWalk(trx, decided.walkEnd, at);
  const saved = saveScope(trx, scope, decided.scope, record, counts.inserted + counts.undeleted, at);
  await allSent(sent, also, log, saved);
  return { ...observed, state: 'applied', decided, changed: changeId };
}

/** Keys of the items that are mirrored now, unchanged ones included. */
function goodKeys(page: SortedPage, others: readonly { readonly index: number }[]): string[] {
  const not = new Set(others.map(({ index }) => index));
  return page.keyed.filter(({ index }) => !not.has(index)).map(({ key }) => key);
}

/**
 * Reads the rows under a page's keys and its scope's row in one statement (docs/design/writing-a-page.md, "Classify"):
 * one lookup in the primary key for each. With `= any(keys)` PostgreSQL reads all rows of the account by another index
 * while it has no statistics, which is during the whole first load.
 */
async function readStoredRows(trx: Db, table: Table, scope: Scope, keys: readonly string[]) {
  // The scope's own row has no key; its `deletedAt` is that of the list of these items.
  const { rows } = await trx.sql<
    Record<'key' | 'hash', string | null> &
      Record<'hasSuspects' | 'inQuarantine' | 'hasForgotten', boolean | null> & { deletedAt: Date | null }
  >`
    select null as key, null as hash, s.gone_at as "deletedAt",
      exists (select from ${trx.stateTable('candidate')} as c where c._user_id = ${scope.userId}::bigint and ${ofScope('c', scope)}) as "hasSuspects",
      exists (select from ${trx.table('quarantine')} as q
              where q._user_id = ${scope.userId}::bigint and ${ofScope('q', scope)}) as "inQuarantine",
      exists (select from ${trx.table('forgotten')} as f where f._user_id = ${scope.userId}::bigint) as "hasForgotten"
    from ${trx.stateTable('scope')} as s
    where s._user_id = ${scope.userId}::bigint and ${ofScope('s', scope)}
    union all
    select k.key::text, encode(t._hash, 'hex'), t._deleted_at, null, null, null
    from unnest(${table.key === undefined ? [''] : [...keys]}::${keyTypeName(table)}[]) as k (key)
    cross join lateral (
      select t._hash, t._deleted_at from ${dataTable(table)} as t
      where ${inScope(table, scope)} and ${hasKey(table)} offset 0) as t`;
  const stands = rows.find(({ key }) => key === null);
  const found = rows.flatMap(({ key, hash, deletedAt }): [string, StoredRow][] =>
    key === null || hash === null ? [] : [[key, { hash, deletedAt: deletedAt ?? undefined }]],
  );
  return {
    rows: new Map(found),
    /** The list of these items is deleted: nothing may be written (docs/design/walks.md, "Lists"). */
    gone: (stands?.deletedAt ?? null) !== null,
    /** The scope has suspects, which a page without proof may show. */
    hasSuspects: stands?.hasSuspects === true,
    inQuarantine: stands?.inQuarantine === true,
    /** Rows of the account were erased on request; items of the page may be among them. */
    hasForgotten: stands?.hasForgotten === true,
  };
}

/**
 * Changes that contradict a later observation: rows that return from a deletion, and rows with the content of a version
 * that was superseded, within the grace period before the request. The page may be stale and would write false history
 * (docs/design/deletions.md, "Returns"). A copy from a cache contradicts everything observed after it was made.
 * @param now by the database's clock; a deletion in the future was long ago, since the clock went back
 * @param stored rows under the page's keys. (With `MIRROR_DELETES=hard` only the history knows deleted rows.)
 */
async function contradicting(
  trx: Db,
  now: Date,
  sentAt: Date,
  { table, history, hard, gracePeriodMs }: Pick<PageContext, 'table' | 'history' | 'hard' | 'gracePeriodMs'>,
  { scope, page, polledAt }: PageRecord,
  changed: readonly ChangedRow[],
  stored: ReadonlyMap<string, StoredRow>,
): Promise<ReadonlySet<ChangedRow>> {
  const graceStart = new Date(sentAt.getTime() - gracePeriodMs);
  const older = isCopy(page?.served) ? await olderThanKnown(trx, table, scope, changed, sentAt, polledAt) : [];
  const back = changed.filter(({ key, change }) => {
    const deletedAt = stored.get(key)?.deletedAt;
    if (change !== 'undeleted' || deletedAt === undefined) return false;
    return deletedAt > graceStart && deletedAt.getTime() <= now.getTime() + HAPPENED_AHEAD_MS;
  });
  const known = changed.filter(({ change }) => change === 'updated' || (hard && change === 'inserted'));
  if (!history || known.length === 0) return new Set([...back, ...older]);
  const old = await recentVersions(trx, table, scope, known, graceStart);
  return new Set([...back, ...older, ...known.filter(({ key }) => old.has(key))]);
}

/** Rows on a copy that changed after it was made, and unknown rows if all rows were mirrored after it was made. */
async function olderThanKnown(
  trx: Db,
  table: Table,
  scope: Scope,
  changed: readonly ChangedRow[],
  madeAt: Date,
  knownAsOf: Date | undefined,
): Promise<ChangedRow[]> {
  const goneSince = knownAsOf !== undefined && madeAt < knownAsOf;
  const updated = changed.filter(({ change }) => change === 'updated').map(({ key }) => key);
  if (updated.length === 0) return changed.filter(({ change }) => change === 'inserted' && goneSince);
  const { rows } = await trx.sql<{ key: string }>`
    select k.key::text as key from unnest(${updated}::${keyTypeName(table)}[]) as k (key)
    where exists (
      select from ${dataTable(table)} as t
      where ${inScope(table, scope)} and ${hasKey(table)} and ${unlessAhead(sql`t._changed_at`)} > ${madeAt} offset 0)`;
  const later = new Set(rows.map((row) => row.key));
  return changed.filter(({ key, change }) => (change === 'inserted' ? goneSince : later.has(key)));
}

/** Keys of rows whose new content was superseded, or that were removed, later than `since`. */
async function recentVersions(
  trx: Db,
  table: Table,
  scope: Scope,
  rows: readonly ChangedRow[],
  since: Date,
): Promise<ReadonlySet<string>> {
  const { rows: found } = await trx.sql<{ key: string }>`
    select k.key::text as key
    from unnest(${rows.map(({ key }) => key)}::${keyTypeName(table)}[], ${rows.map(({ hash }) => hash)}::text[],
      ${rows.map(({ change }) => change === 'inserted')}::boolean[]) as k (key, hash, removed)
    where exists (
      select from ${dataTable(table, '_history')} as t
      where ${inScope(table, scope)} and ${hasKey(table)} and ${unlessAhead(sql`t._valid_to`)} > ${since}
        and (t._hash = decode(k.hash, 'hex') or k.removed and t._op = 'delete') offset 0)`;
  return new Set(found.map(({ key }) => key));
}
