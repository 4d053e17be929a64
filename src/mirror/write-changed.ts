/** Sends a page's changed rows to Postgres: new fields, change IDs, history, conflicts, rows hashed anew in place. */

import type { Clock } from '@research-mirror/runtime/clock';
import { sql } from 'kysely';
import type { Scope } from '../model/collections.ts';
import { canonicalText, fieldSources } from '../model/json-text.ts';
import { jsonbNumber, jsonbText } from '../model/values.ts';
import { sendChangeIds } from '../postgres/fenced.ts';
import { allSent, type Db } from '../postgres/db.ts';
import { type BadItem, type ChangedRow, type ContentRule, isComparable, type StoredRow } from './page-record.ts';
import type { TableChange } from '../postgres/notifications.ts';
import {
  type ColumnRegistry,
  columnValue,
  type FieldColumn,
  StaleColumns,
  storableName,
  tableVersion,
} from './columns.ts';
import { countConflicts, countRows } from './counters.ts';
import { recordUnfinished } from './live-rows.ts';
import { markChildrenDue } from './scope-store.ts';
import type { SeenFields } from './table-columns.ts';
import { dataTable, hasKey, inScope, keyTypeName, type Table } from './table.ts';
import { writeCarefully } from './write-carefully.ts';
import { rowContent, type RowPayload, type RowWrite, writeRows } from './write-rows.ts';

/** The page has fields without a column: add the columns and write the page again. */
export class NewFields extends Error {
  readonly fields: SeenFields;
  constructor(fields: SeenFields) {
    super(`new fields: ${[...fields.keys()].join(', ')}`);
    this.fields = fields;
  }
}

/** What a page is written with. */
export interface PageContext {
  readonly table: Table;
  readonly registry: ColumnRegistry;
  readonly rule: ContentRule;
  /** Superseded versions are kept. */
  readonly history: boolean;
  /** Deleted rows are removed. */
  readonly hard: boolean;
  /** Least time between two observations that contradict a third, ms. */
  readonly gracePeriodMs: number;
  /** Postgres refused rows of this page: find them one by one. */
  readonly careful: boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Changed rows of a page that were sent to Postgres. */
export const NO_ROWS_SENT = {
  written: [] as readonly ChangedRow[],
  refused: [] as readonly BadItem[],
  changeId: undefined as TableChange | undefined,
  /** Resolves once Postgres has written them; rejects with what it refuses. */
  sent: Promise.resolve() as Promise<unknown>,
};

/**
 * Sends a page's changed rows and their consequences, all together; `sent` is the outcome.
 * @throws NewFields, StaleColumns
 */
export async function writeChanged(
  trx: Db,
  at: Date,
  context: PageContext,
  scope: Scope,
  changed: readonly ChangedRow[],
): Promise<typeof NO_ROWS_SENT> {
  const { table, registry, rule, careful } = context;
  const payloads = changed.map((row) => ({
    row,
    ...rowContent(row, rule.exclude, table.name, registry.columns),
  }));
  const unknown = newFields(payloads, registry);
  if (unknown.size > 0) throw new NewFields(unknown);
  const version = sameColumns(trx, table, registry);
  const { before, stored } = sendChangeIds(trx, scope.userId, payloads.length);
  const archived = context.history ? registry.archived : undefined;
  const rowWrite: RowWrite = { table, scope, columns: registry.columns, at, archived };
  const begun = allSent(version, stored);
  begun.catch(() => {});
  let refused: BadItem[] = [];
  let rows: Promise<void> | undefined;
  if (careful) {
    await begun;
    refused = await writeCarefully(trx, rowWrite, payloads, before);
  } else rows = writeRows(trx, rowWrite, payloads, before);

  const refusedAt = new Set(refused.map(({ index }) => index));
  const written = payloads.filter(({ row }) => !refusedAt.has(row.index));
  const sent = allSent(begun, rows, followUp(trx, at, scope, written));
  const last = payloads.findLastIndex(({ row }) => !refusedAt.has(row.index));
  return {
    written: written.map(({ row }) => row),
    refused,
    sent,
    changeId:
      last === -1
        ? undefined
        : { table: table.name, userId: scope.userId, changeId: String(before + BigInt(last) + 1n) },
  };
}

async function sameColumns(trx: Db, table: Table, { version }: ColumnRegistry): Promise<void> {
  if ((await tableVersion(trx, table)) !== version) throw new StaleColumns();
}

/** Consequences of written rows: counters, unfinished rows, lists that are due. */
async function followUp(trx: Db, at: Date, scope: Scope, written: readonly RowPayload[]): Promise<void> {
  const rows = written.map(({ row }) => row);
  const undeleted = rows.filter(({ change }) => change === 'undeleted').length;
  const inserted = rows.filter(({ change }) => change === 'inserted').length;
  const counted = inserted + undeleted === 0 ? undefined : countRows(trx, scope, inserted + undeleted, -undeleted);
  const conflicting = countConflicts(trx, scope, countFields(written), at);
  const unfinished = recordUnfinished(trx, scope, rows, at);
  const keys = rows.map(({ key }) => key);
  await allSent(counted, conflicting, unfinished, markChildrenDue(trx, scope, keys, at));
}

function countFields(rows: readonly RowPayload[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const field of rows.flatMap(({ conflicts }) => conflicts)) {
    counts.set(field, (counts.get(field) ?? 0) + 1);
  }
  return counts;
}

/** Most registered fields of a collection: items with data as field names would fill the registry. */
const MAX_FIELDS = 2000;

/** Unregistered fields of changed rows with their values; nulls are skipped, since they have no type. */
export function newFields(
  rows: readonly Pick<RowPayload, 'fields'>[],
  registry: Pick<ColumnRegistry, 'fields'>,
): SeenFields {
  const found = new Map<string, string[]>();
  for (const { fields } of rows) {
    for (const [field, value] of fields) {
      if (registry.fields.has(field) || value === 'null' || !storableName(field)) continue;
      const values = found.get(field);
      if (values !== undefined) values.push(value);
      else if (registry.fields.size + found.size < MAX_FIELDS) found.set(field, [value]);
    }
  }
  return found;
}

/** Bytes that a stored item may have more than the page's to be compared: it may have fields that are ignored now. */
const MORE_BYTES = 65_536;

/**
 * Finds rows with another hash and the same content: their hash was made by another rule. They get a new hash in place,
 * without a version, `_changed_at` or `_change_id`. Fields that are no longer stored are removed in place as well: a
 * version would store them once more.
 *
 * Rows do not store the rule of their hash, so a stop or a process with another configuration leaves nothing wrong. The
 * price is one more read of rows that did change. (`_raw` alone can't be rehashed: it has lost the spelling of numbers,
 * so the next page would find them changed.)
 * @param registry of the table: columns of fields that are no longer stored are emptied, and derived columns updated
 * @returns the rows that are unchanged
 * @throws StaleColumns
 */
export async function rehashSame(
  trx: Db,
  table: Table,
  scope: Scope,
  differing: readonly ChangedRow[],
  stored: ReadonlyMap<string, StoredRow>,
  rule: ContentRule,
  registry: Pick<ColumnRegistry, 'columns' | 'seconds' | 'version'>,
): Promise<ReadonlySet<ChangedRow>> {
  const asked = differing.filter(
    ({ key, change }) => change === 'updated' && isComparable(stored.get(key)?.hash ?? ''),
  );
  if (asked.length === 0) return new Set();
  const items = await storedItems(trx, table, scope, asked);
  const same = asked.flatMap((row) => {
    const item = items.get(row.key);
    if (item === undefined) return [];
    const purged = stripped(item, rule);
    const isSame = isSameContent(purged ?? item, row.item.source, rule.leaveOut);
    return isSame ? [{ row, stored: item, purged }] : [];
  });
  const rehashed = same.filter(({ purged }) => purged === undefined);
  await writeHashes(
    trx,
    table,
    scope,
    rehashed.map(({ row }) => row),
  );
  // A column that this process does not know would keep the field.
  const purges = rehashed.length < same.length;
  if (purges && (await tableVersion(trx, table)) !== registry.version) throw new StaleColumns();
  const columns = [...registry.columns, ...registry.seconds];
  for (const { row, stored: item, purged } of same) {
    if (purged === undefined) continue;
    const [before, after] = [fieldSources(item.raw), fieldSources(purged.raw)];
    const touched = columns.filter(({ field, derived }) =>
      (derived?.from ?? [field]).some((each) => before.get(each) !== after.get(each)),
    );
    await writePurged(trx, table, scope, row, purged, touched);
  }
  return new Set(same.map(({ row }) => row));
}

async function storedItems(
  trx: Db,
  table: Table,
  scope: Scope,
  rows: readonly ChangedRow[],
): Promise<ReadonlyMap<string, StoredItem>> {
  const type = keyTypeName(table);
  const most = rows.map(({ item }) => 2 * Buffer.byteLength(item.source) + MORE_BYTES);
  const { rows: found } = await trx.sql<StoredItem & { key: string }>`
    select k.key::text as key, t.raw, t._verbatim as verbatim
    from unnest(${rows.map(({ key }) => key)}::${type}[], ${most}::bigint[]) as k (key, most)
    cross join lateral (
      select t._raw::text as raw, t._verbatim from ${dataTable(table)} as t
      where ${inScope(table, scope)} and ${hasKey(table)} and t._deleted_at is null offset 0) as t
    where octet_length(t.raw) <= k.most`;
  return new Map(found.map(({ key, ...item }) => [key, item]));
}

async function writeHashes(trx: Db, table: Table, scope: Scope, rows: readonly ChangedRow[]): Promise<void> {
  if (rows.length === 0) return;
  const type = keyTypeName(table);
  await trx.sql`
    update ${dataTable(table)} as t set _hash = decode(x.hash, 'hex')
    from (
      select k.hash, t.place
      from unnest(${rows.map(({ key }) => key)}::${type}[], ${rows.map(({ hash }) => hash)}::text[]) as k (key, hash)
      cross join lateral (
        select t.ctid as place from ${dataTable(table)} as t
        where ${inScope(table, scope)} and ${hasKey(table)} offset 0) as t) as x
    where t._user_id = ${scope.userId}::bigint and t.ctid = x.place`;
}

async function writePurged(
  trx: Db,
  table: Table,
  scope: Scope,
  { key, hash }: ChangedRow,
  { raw, verbatim }: StoredItem,
  touched: readonly FieldColumn[],
): Promise<void> {
  const type = keyTypeName(table);
  const fields = fieldSources(raw);
  const values = touched.map((column) => sql`, ${sql.id(column.name)} = ${valueText(column, fields)}`);
  await trx.sql`
    update ${dataTable(table)} as t
    set _hash = decode(${hash}, 'hex'), _raw = ${raw}::text::jsonb, _verbatim = ${verbatim} ${sql.join(values, sql``)}
    from (select ${key}::${type} as key) as k
    where t._user_id = ${scope.userId}::bigint and ${inScope(table, scope)} and ${hasKey(table)}`;
}

/** What is stored of an item: `_raw` as text, and `_verbatim`. */
type StoredItem = Readonly<{ raw: string; verbatim: string | null }>;

/**
 * Whether an item's content equals the stored one. The stored hash may be of another rule (after a change of
 * MIRROR_IGNORE_FIELDS, for example), so the texts are compared. `_raw` has lost the spelling of numbers (`1e2`);
 * `_verbatim` has the characters that jsonb can't hold.
 * @param leaveOut fields that do not count as content
 */
function isSameContent(stored: StoredItem, source: string, leaveOut: ReadonlySet<string>): boolean {
  const content = canonicalText(source, leaveOut);
  if (stored.verbatim !== null) return canonicalText(stored.verbatim, leaveOut) === content;
  const { raw, verbatim } = jsonbText(content);
  if (verbatim !== undefined) return false;
  return canonicalText(stored.raw, leaveOut, jsonbNumber) === canonicalText(raw, undefined, jsonbNumber);
}

/** The column's value of these fields, as text; null: NULL. */
function valueText({ derived, field, type }: FieldColumn, fields: ReadonlyMap<string, string>): string | null {
  if (derived !== undefined) return derived.value(fields) ?? null;
  const source = fields.get(field) ?? 'null';
  const value = columnValue(type, source);
  if (value.as !== 'stored' || source === 'null') return value.as === 'text' ? value.text : null;
  return type !== 'jsonb' && source.startsWith('"') ? (JSON.parse(source) as string) : source;
}

/** What remains of the stored item; undefined: all of it. */
function stripped(stored: StoredItem, rule: ContentRule): StoredItem | undefined {
  const source = stored.verbatim ?? stored.raw;
  const left = canonicalText(rule.strip(source));
  if (left === canonicalText(source)) return undefined;
  const { raw, verbatim = null } = jsonbText(left);
  return { raw, verbatim };
}
