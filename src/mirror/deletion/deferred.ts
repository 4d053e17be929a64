import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Scope } from '../../model/collections.ts';
import type { ChangedRow, StoredRow } from '../rows/classify.ts';
import { inScope, keyTypeName, dataTable, type Table } from '../table.ts';

/** By what a page's changes are judged. */
export interface ContradictionRule {
  /** MIRROR_SETTLE before the page's request was sent: a replica may lag as much, no more. */
  readonly graceStart: Date;
  /** Superseded versions are kept. */
  readonly history: boolean;
  /** Deleted rows are removed (MIRROR_DELETES=hard): of them the history alone knows. */
  readonly hard: boolean;
  /** Given where a cache on the way had held the page. */
  readonly copy?: {
    /** What was observed later is newer than what the page says. */
    readonly madeAt: Date;
    /** All rows that were there then are mirrored, or are gone since; undefined: never so far. */
    readonly knownAsOf: Date | undefined;
  };
}

/**
 * The changes that contradict what was observed later than `settledAt`: rows back from a deletion, and rows with the
 * content of a version superseded since. The page may be stale, and would write false history (docs/design/deletions.md, "Returns"). A copy
 * contradicts besides what was observed after it was made, whatever that was.
 */
export async function contradicting(
  trx: Db,
  table: Table,
  scope: Scope,
  changed: readonly ChangedRow[],
  stored: ReadonlyMap<string, StoredRow>,
  judgement: ContradictionRule,
): Promise<ReadonlySet<ChangedRow>> {
  const { graceStart, history, hard, copy } = judgement;
  const older = copy === undefined ? [] : await olderThanKnown(trx, table, scope, changed, copy);
  const back = changed.filter(({ key, change }) => {
    const deletedAt = stored.get(key)?.deletedAt;
    return change === 'undeleted' && deletedAt !== undefined && deletedAt > graceStart;
  });
  const known = changed.filter(({ change }) => change === 'updated' || (hard && change === 'inserted'));
  if (!history || known.length === 0) return new Set([...back, ...older]);
  const old = await recentVersions(trx, table, scope, known, graceStart);
  return new Set([...back, ...older, ...known.filter(({ key }) => old.has(key))]);
}

/** What a copy says of rows that changed after it was made, and rows on it that were gone before all others were known. */
async function olderThanKnown(
  trx: Db,
  table: Table,
  scope: Scope,
  changed: readonly ChangedRow[],
  { madeAt, knownAsOf }: Required<ContradictionRule>['copy'],
): Promise<ChangedRow[]> {
  const gone = knownAsOf !== undefined && madeAt < knownAsOf;
  const updated = changed.filter(({ change }) => change === 'updated').map(({ key }) => key);
  if (updated.length === 0) return changed.filter(({ change }) => change === 'inserted' && gone);
  const { rows } = await sql<{ key: string }>`
    select k.key::text as key from unnest(${updated}::${keyTypeName(table)}[]) as k (key)
    where exists (
      select from ${dataTable(table)} as t
      where ${inScope(table, scope)} and ${ofKey(table)} and t._changed_at > ${madeAt} offset 0)`.execute(
    trx,
  );
  const later = new Set(rows.map((row) => row.key));
  return changed.filter(({ key: of, change }) => (change === 'inserted' ? gone : later.has(of)));
}

/** Keys of rows whose new content was superseded, or that were removed, later than `since`. */
async function recentVersions(
  trx: Db,
  table: Table,
  scope: Scope,
  rows: readonly ChangedRow[],
  since: Date,
): Promise<ReadonlySet<string>> {
  const type = keyTypeName(table);
  const { rows: found } = await sql<{ key: string }>`
    select k.key::text as key
    from unnest(${rows.map(({ key }) => key)}::${type}[], ${rows.map(({ hash }) => hash)}::text[],
      ${rows.map(({ change }) => change === 'inserted')}::boolean[]) as k (key, hash, removed)
    where exists (
      select from ${dataTable(table, '_history')} as t
      where ${inScope(table, scope)} and ${ofKey(table)} and t._valid_to > ${since}
        and (t._hash = decode(k.hash, 'hex') or k.removed and t._op = 'delete') offset 0)`.execute(trx);
  return new Set(found.map(({ key }) => key));
}

/** The row of `t` has the key of `k`. */
function ofKey(table: Table): RawBuilder<unknown> {
  return table.key === undefined ? sql`true` : sql`t.${sql.id(table.key.column)} = k.key`;
}
