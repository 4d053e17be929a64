import { HAPPENED_AHEAD_MS, unlessAhead } from '../../db/ownership/moment-ahead.ts';
import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import type { Scope } from '../../model/collections.ts';
import type { PageContext } from '../page/write-changed.ts';
import type { PageWrite } from '../page-write.ts';
import type { ChangedRow, StoredRow } from '../rows/classify.ts';
import { dataTable, hasKey, inScope, keyTypeName, type Table } from '../table.ts';

/**
 * The changes that contradict what was observed later than the grace period before the page's request was sent, when
 * replicas lagged no more: rows that return from a deletion, and rows with the content of a version superseded since. The
 * page may be stale, and would write false history (docs/design/deletions.md, "Returns"). A copy from a cache contradicts
 * whatever was observed after it was made.
 * @param now by the database's clock; a deletion that lies ahead of it was long ago, since the clock went back
 * @param stored rows under the page's keys. (Where deleted rows are removed, only the history knows them.)
 */
export async function contradicting(
  trx: Db,
  now: Date,
  sentAt: Date,
  { table, history, hard, gracePeriodMs }: Pick<PageContext, 'table' | 'history' | 'hard' | 'gracePeriodMs'>,
  { scope, copy }: Pick<PageWrite, 'scope' | 'copy'>,
  changed: readonly ChangedRow[],
  stored: ReadonlyMap<string, StoredRow>,
): Promise<ReadonlySet<ChangedRow>> {
  const graceStart = new Date(sentAt.getTime() - gracePeriodMs);
  const older =
    copy === undefined ? [] : await olderThanKnown(trx, table, scope, changed, sentAt, copy.knownAsOf);
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

/** Rows on a copy that changed after it was made, and unknown ones if all rows were mirrored after it was made. */
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

/** Keys of rows whose new content was superseded later than `since`, or that were removed later than that. */
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
