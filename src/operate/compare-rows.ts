import { type RawBuilder, sql } from 'kysely';
import { contentHash, type ContentRule, contentRule, isComparable, sortPage } from '../mirror/page-record.ts';
import { readRegistry } from '../mirror/columns.ts';
import { forgottenAmong, liveAmong } from '../mirror/live-rows.ts';
import { itemHash, quarantinedAmong, storableText } from '../mirror/quarantine.ts';
import { dataTable, inScope, keyTypeName, type Table, tableOf } from '../mirror/table.ts';
import { isDataError } from '../mirror/write-carefully.ts';
import { columnExpression, payloadText, rowContent, type RowContent } from '../mirror/write-rows.ts';
import type { Scope } from '../model/collections.ts';
import type { Item } from '../model/page.ts';
import type { Db } from '../postgres/db.ts';
import { readAccount } from '../postgres/fenced.ts';
import { shortened } from '../status/status-report.ts';

/** Of `ignore` (MIRROR_IGNORE_FIELDS) the mirror may have older values, of `exclude` (MIRROR_EXCLUDE_FIELDS) none. */
export interface StorageRules extends Readonly<Record<'ignore' | 'exclude', ReadonlySet<string>>> {
  /** Default: the rule of these two. */
  readonly rule?: ContentRule;
}

/** Beginnings of the values of a column, `_hash`, `_verbatim` or a field of `_raw`; null: NULL, or no such field. */
type FieldDifference = { readonly name: string } & Readonly<Record<'source' | 'mirror', string | null>>;

/**
 * An item that is not in the mirror as it should be, or a row without an item. `key`: undefined if it is not usable;
 * `source`: the item's content hash; `row`: `_change_id` of the mirror's row, marked deleted or not.
 */
export interface UnequalItem extends Readonly<Record<'key' | 'source' | 'row', string | undefined>> {
  /** `missing`: no row, or one marked deleted; `extra`: a live row without an item; `forgotten`: erased on request. */
  readonly kind: 'missing' | 'extra' | 'different' | 'quarantined' | 'forgotten';
  readonly fields: readonly FieldDifference[];
  /** The row is live, and the service's present version is in quarantine. */
  readonly stale: boolean;
}

/** Characters of a value that are shown. */
const SHOWN = 120;

/**
 * Compares items with their rows, by the expressions that write rows: every column that the daemon fills, `_raw` field
 * by field and digit by digit, `_hash`, `_verbatim`, `_deleted_at`. An equal hash is not enough: a row may be changed
 * by hand.
 * @returns the unequal items, each once
 */
export async function compareItems(
  db: Db,
  scope: Scope,
  items: readonly Item[],
  { ignore, exclude, rule = contentRule(ignore, exclude) }: StorageRules,
): Promise<readonly UnequalItem[]> {
  const table = tableOf(db.schema, scope.collection);
  const page = sortPage(items, rule);
  // In this order: a column that is added in between is not compared, and an older one is known as not yet filled.
  const { columns } = await readRegistry(db, table);
  // A new column is not filled yet in rows with change IDs above `after`, up to `until`.
  const { rows: unfilled } = await db.sql<Record<'field' | 'after' | 'until', string>>`
    select b.field, b.done_through as after, b.until from ${db.stateTable('backfill')} as b
    where b._user_id = ${scope.userId}::bigint and b.collection = ${scope.collection}`;
  const values = columns
    .filter(({ field, derived }) => !(derived?.from ?? [field]).some((each) => ignore.has(each)))
    .map((column) => {
      const stored = sql`t.${sql.id(column.name)}::text`;
      const expected = sql`(${columnExpression(column)})::text`;
      const pending = unfilled.find(({ field }) => field === column.field);
      if (pending === undefined) return sql`(${column.name}::text, ${expected}, ${stored})`;
      // A list of cases, so that of all expressions only those of this row are computed.
      return sql`(${column.name}::text, case when t._change_id > ${pending.after}::bigint and t._change_id <= ${pending.until}::bigint
          then ${stored} else ${expected} end, ${stored})`;
    });
  const sent = page.keyed.map((row) => ({ row, ...rowContent(row, exclude, table.name, columns) }));
  const query = (some: readonly RowContent[]) => unequalQuery(table, scope, values, ignore, some);
  const found = await unequalRows(db, scope, query, sent);
  const rows = new Map(found.map((row) => [row.key, row]));
  const keyless = page.bad.map(({ item }) => {
    return { item, hash: contentHash(item.source, rule), key: undefined };
  });
  const unequal = [...page.keyed, ...keyless].flatMap(({ key, hash, item }) => {
    const row = rows.get(key ?? '');
    const fields = row?.live === true ? differences(row.fields ?? [], hash, rule, ignore) : [];
    const isEqual = row === undefined ? key !== undefined : row.live && fields.length === 0;
    return isEqual ? [] : [{ key, hash, item, row, fields }];
  });
  if (unequal.length === 0) return [];
  // The mirror is right to have no row, or an older one, of items that it knows to be quarantined or forgotten.
  const texts = unequal.map(({ item }) => itemHash(storableText(item.source, exclude)));
  const quarantined = await quarantinedAmong(db, scope, texts);
  const forgotten = await forgottenAmong(db, scope, unequal);
  return unequal.map(({ key, hash: source, row, fields }, at) => {
    const isKept = quarantined.has(texts[at] ?? '');
    const of = { key, source, row: row?.change_id ?? undefined, fields };
    if (row?.live === true) return { ...of, kind: 'different', stale: isKept };
    const isForgotten = forgotten.parent || forgotten.keys.has(key ?? '');
    return { ...of, kind: isForgotten ? 'forgotten' : isKept ? 'quarantined' : 'missing', stale: false };
  });
}

/** The differences of a live row as they are shown; none if they are no difference. */
function differences(
  found: readonly FieldDifference[],
  hash: string,
  rule: ContentRule,
  ignore: ReadonlySet<string>,
): FieldDifference[] {
  // `_verbatim` has the item's former order of fields and white space. An ignored field may be its only reason.
  const fields = found.filter(({ name, source, mirror }) => {
    if (name !== '_verbatim') return true;
    return source === null || mirror === null ? ignore.size === 0 : contentHash(mirror, rule) !== hash;
  });
  // A hash by another rule (MIRROR_IGNORE_FIELDS was changed) is replaced when the row is read next.
  if (fields.every(({ name, mirror }) => name === '_hash' && isComparable(mirror ?? ''))) return [];
  const shown = (value: string | null): string | null => value && shortened(value, SHOWN);
  return fields.map(({ name, source, mirror }) => ({ name, source: shown(source), mirror: shown(mirror) }));
}

/** The row of an unequal item: missing, marked deleted, or with differences. */
interface UnequalRow {
  readonly key: string;
  readonly change_id: string | null;
  readonly live: boolean;
  readonly fields: readonly FieldDifference[] | null;
}

/** Halves items that Postgres can't read until the bad one is alone: a live row of its key is another version. */
async function unequalRows(
  db: Db,
  scope: Scope,
  query: (sent: readonly RowContent[]) => RawBuilder<UnequalRow>,
  sent: readonly (RowContent & { readonly row: { readonly key: string; readonly item: Item } })[],
): Promise<readonly UnequalRow[]> {
  const [first] = sent;
  if (first === undefined) return [];
  try {
    return await readAccount(db, scope.userId, query(sent));
  } catch (error) {
    if (!isDataError(error)) throw error;
    if (sent.length > 1) {
      const half = Math.ceil(sent.length / 2);
      const before = await unequalRows(db, scope, query, sent.slice(0, half));
      return [...before, ...(await unequalRows(db, scope, query, sent.slice(half)))];
    }
    const { key, item } = first.row;
    const [row] = await liveAmong(db, scope, [key]);
    const fields = [{ name: '_raw', source: item.source, mirror: 'an older version' }];
    return [{ key, change_id: row?.changeId ?? null, live: row !== undefined, fields }];
  }
}

/** @param values for each column: its name, the value that it should have, the value that it has */
function unequalQuery(
  table: Table,
  scope: Scope,
  values: readonly RawBuilder<unknown>[],
  ignore: ReadonlySet<string>,
  sent: readonly RowContent[],
): RawBuilder<UnequalRow> {
  const meta = [
    sql`('_hash', x.h, encode(t._hash, 'hex'))`,
    sql`('_verbatim', x.v, t._verbatim)`,
    sql`('_raw', jsonb_typeof(x.r), jsonb_typeof(t._raw))`,
  ];
  const fieldsOf = (raw: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`case when jsonb_typeof(${raw}) = 'object' then ${raw} - ${[...ignore]}::text[] else '{}' end`;
  const ofKey = table.key === undefined ? sql`` : sql`and t.${sql.id(table.key.column)} = x.k`;
  return sql<UnequalRow>`
    select x.k::text as key, t._change_id as change_id, t._user_id is not null and t._deleted_at is null as live, d.fields
    from jsonb_to_recordset(${payloadText(sent, 0n)}::text::jsonb)
      as x (k ${keyTypeName(table)}, h text, o jsonb, v text, r jsonb)
    left join lateral (
      select t.* from ${dataTable(table)} as t where ${inScope(table, scope)} ${ofKey} offset 0) as t on true
    left join lateral (
      select json_agg(d.*) as fields from (
        select v.name, v.source, v.mirror from (values ${sql.join([...meta, ...values])}) as v (name, source, mirror)
        where v.source is distinct from v.mirror
        union all
        select '_raw.' || coalesce(f.key, g.key), f.value::text, g.value::text
        from jsonb_each(${fieldsOf(sql`x.r`)}) as f full join jsonb_each(${fieldsOf(sql`t._raw`)}) as g on g.key = f.key
        where f.value::text is distinct from g.value::text) as d) as d on t._user_id is not null and t._deleted_at is null
    where t._user_id is null or t._deleted_at is not null or d.fields is not null`;
}
