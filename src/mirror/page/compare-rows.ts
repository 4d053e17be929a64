import type { Db } from '../../db/connection/db.ts';
import { readAccount } from '../../db/ownership/account-plans.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Scope } from '../../model/collections.ts';
import type { Item } from '../../model/page.ts';
import { shortened } from '../../model/status/shortened.ts';
import { type KeyedItem, sortPage } from '../rows/classify.ts';
import { type ColumnRegistry, readRegistry } from '../columns/column-registry.ts';
import { liveAmong } from '../rows/live-rows.ts';
import { contentHash, contentRule, type ContentRule, isComparable } from '../rows/content-hash.ts';
import { forgottenAmong } from './forgotten-keys.ts';
import { itemHash, quarantinedAmong, storableText } from '../quarantine/update-quarantine.ts';
import { payloadText, rowContent, type RowContent } from '../rows/row-payload.ts';
import { inScope, keyTypeName, dataTable, type Table, tableOf } from '../table.ts';
import { isDataError } from '../quarantine/write-carefully.ts';
import { columnExpression } from '../rows/write-rows.ts';

/** Which fields the mirror should have. */
export interface StorageRules {
  /** `MIRROR_IGNORE_FIELDS` of the collection: the mirror may have older values of them. */
  readonly ignore: ReadonlySet<string>;
  /** `MIRROR_EXCLUDE_FIELDS` of the collection: the mirror has none of them. */
  readonly exclude: ReadonlySet<string>;
}

/** A column, `_hash`, `_verbatim` or a field of `_raw` that is not what the item would make it. */
export interface FieldDifference {
  readonly name: string;
  /** Beginnings of the values, as text; null for NULL, and for a field that is not there. */
  readonly source: string | null;
  readonly mirror: string | null;
}

/** An item that is not in the mirror as it should be. */
export interface UnequalItem {
  /** Undefined for an item without a usable one. */
  readonly key: string | undefined;
  /** The item's content hash. */
  readonly source: string;
  /**
   * - `missing`: no row, or one that is marked deleted
   * - `different`: `fields` says where
   * - `quarantined`: it can't be mirrored, is kept in `quarantine`, and there is no row that could be taken for it
   * - `forgotten`: it was erased on request, and is not mirrored again
   */
  readonly kind: 'missing' | 'different' | 'quarantined' | 'forgotten';
  /** `_change_id` of the mirror's row, marked deleted or not; undefined where there is none. */
  readonly row: string | undefined;
  readonly fields: readonly FieldDifference[];
  /** The row is live, and what the service has now is in quarantine. */
  readonly stale?: boolean;
}

export interface ComparedItems {
  /** Keys of all items that have one, each once. */
  readonly keys: readonly string[];
  readonly unequal: readonly UnequalItem[];
}

/** Characters of a value that are shown. */
const SHOWN = 120;

/**
 * Compares items with their rows in the mirror, by the very expressions that write them: every column that the daemon
 * fills, `_raw` field by field and digit by digit, `_hash`, `_verbatim`, `_deleted_at`. An equal hash is not enough:
 * somebody may have changed the row without it. Writes nothing.
 */
export async function compareItems(
  db: Db,
  scope: Scope,
  items: readonly Item[],
  { ignore, exclude }: StorageRules,
): Promise<ComparedItems> {
  const table = tableOf(db.schema, scope.collection);
  const rule = contentRule(ignore, exclude);
  const page = sortPage(items, rule, () => undefined);
  // In this order: a column that is added in between is not compared, and an older one is known as not yet filled.
  const registry = await readRegistry(db, table);
  const filled = await unfilledColumns(db, scope);
  const payloads = page.keyed.map((row) => ({
    row,
    ...rowContent(row, exclude, table.name, registry.columns),
  }));
  const compared = await comparePayloads(db, { table, scope, registry, filled, ignore }, payloads);

  const unequal = page.keyed.flatMap((row) => judge(row, compared, rule, ignore.size > 0));
  const keyless = page.bad.map(({ item }): Unequal => ({
    item,
    found: {
      key: item.key,
      source: contentHash(item.source, rule),
      kind: 'missing',
      row: undefined,
      fields: [],
    },
  }));
  const keys = page.keyed.map(({ key }) => key);
  return { keys, unequal: await setApart(db, scope, [...unequal, ...keyless], exclude) };
}

interface Unequal {
  readonly item: Item;
  readonly found: UnequalItem;
}

/** One item's row, as the statement below found it. */
interface Compared {
  readonly row: string | undefined;
  readonly live: boolean;
  readonly fields: readonly FieldDifference[];
}

interface Comparison {
  readonly table: Table;
  readonly scope: Scope;
  readonly registry: ColumnRegistry;
  readonly filled: ReadonlyMap<string, UnfilledRows>;
  readonly ignore: ReadonlySet<string>;
}

function judge(
  { item, key, hash }: KeyedItem,
  compared: ReadonlyMap<string, Compared>,
  rule: ContentRule,
  someIgnored: boolean,
): Unequal[] {
  const found = compared.get(key);
  if (found === undefined) return [];
  const { row, live } = found;
  if (row === undefined || !live) {
    return [{ item, found: { key, source: hash, kind: 'missing', row, fields: [] } }];
  }
  const different = found.fields.filter((field) => !isSameVerbatim(field, hash, rule, someIgnored));
  // A hash by another rule (MIRROR_IGNORE_FIELDS was changed) is replaced when the row is read next: no difference.
  if (different.every(({ name, mirror }) => name === '_hash' && isComparable(mirror ?? ''))) return [];
  const fields = different.map(({ name, source, mirror }) => ({
    name,
    source: shown(source),
    mirror: shown(mirror),
  }));
  return [{ item, found: { key, source: hash, kind: 'different', row, fields } }];
}

/**
 * `_verbatim` keeps the item's spelling when it was last written: the order of fields and white space may differ
 * today. If fields are ignored, one of those may be the only reason for having `_verbatim`.
 */
function isSameVerbatim(
  { name, source, mirror }: FieldDifference,
  hash: string,
  rule: ContentRule,
  someIgnored: boolean,
): boolean {
  if (name !== '_verbatim') return false;
  if (source === null || mirror === null) return someIgnored;
  return contentHash(mirror, rule) === hash;
}

function shown(value: string | null): string | null {
  return value === null ? null : shortened(value, SHOWN);
}

interface ComparedItem extends RowContent {
  readonly row: KeyedItem;
}

/** Halves what Postgres can't read until the bad item is alone: a live row of its key is another version. */
async function comparePayloads(
  db: Db,
  comparison: Comparison,
  payloads: readonly ComparedItem[],
): Promise<Map<string, Compared>> {
  const [first] = payloads;
  if (first === undefined) return new Map();
  try {
    return await comparePart(db, comparison, payloads);
  } catch (error) {
    if (!isDataError(error)) throw error;
    if (payloads.length === 1) {
      const { key, item } = first.row;
      const row = (await liveAmong(db, comparison.scope, [key])).get(key);
      const fields = [{ name: '_raw', source: item.source, mirror: 'an older version' }];
      return new Map([[key, { row, live: row !== undefined, fields }]]);
    }
    const half = Math.ceil(payloads.length / 2);
    return new Map([
      ...(await comparePayloads(db, comparison, payloads.slice(0, half))),
      ...(await comparePayloads(db, comparison, payloads.slice(half))),
    ]);
  }
}

interface DifferenceRow {
  readonly key: string;
  readonly change_id: string | null;
  readonly live: boolean | null;
  readonly name: string | null;
  readonly source: string | null;
  readonly mirror: string | null;
}

/** @returns only the items that are not as they should be */
async function comparePart(
  db: Db,
  { table, scope, registry, filled, ignore }: Comparison,
  payloads: readonly ComparedItem[],
): Promise<Map<string, Compared>> {
  const columns = registry.columns
    .filter(({ field, derived }) => !(derived?.from ?? [field]).some((each) => ignore.has(each)))
    .map((column) => {
      const { field, name, type } = column;
      const stored = sql`t.${sql.id(name)}::text`;
      const pending = filled.get(field);
      // A list of cases, so that of all expressions only those of this row are computed.
      const expected = sql`(${columnExpression({ field, name, type })})::text`;
      return pending === undefined
        ? sql`(${name}::text, ${expected}, ${stored})`
        : sql`(${name}::text, case when t._change_id > ${pending.after}::bigint and t._change_id <= ${pending.until}::bigint
            then ${stored} else ${expected} end, ${stored})`;
    });
  const meta = [
    sql`('_hash', x.h, encode(t._hash, 'hex'))`,
    sql`('_verbatim', x.v, t._verbatim)`,
    sql`('_raw', jsonb_typeof(x.r), jsonb_typeof(t._raw))`,
  ];
  const ignored = sql`${[...ignore]}::text[]`;
  const fieldsOf = (raw: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`case when jsonb_typeof(${raw}) = 'object' then ${raw} - ${ignored} else '{}' end`;
  const query = sql<DifferenceRow>`
    select x.k::text as key, t._change_id as change_id, t._deleted_at is null as live, d.name, d.source, d.mirror
    from jsonb_to_recordset(${payloadText(payloads, 0n)}::text::jsonb)
      as x (k ${keyTypeName(table)}, h text, o jsonb, v text, r jsonb)
    left join lateral (
      select t.* from ${dataTable(table)} as t where ${inScope(table, scope)} ${ofKey(table)} offset 0) as t on true
    left join lateral (
      select v.name, v.source, v.mirror from (values ${sql.join([...meta, ...columns])}) as v (name, source, mirror)
      where v.source is distinct from v.mirror
      union all
      select '_raw.' || coalesce(f.key, g.key), f.value::text, g.value::text
      from jsonb_each(${fieldsOf(sql`x.r`)}) as f full join jsonb_each(${fieldsOf(sql`t._raw`)}) as g on g.key = f.key
      where f.value::text is distinct from g.value::text) as d on t._user_id is not null and t._deleted_at is null
    where t._user_id is null or t._deleted_at is not null or d.name is not null`;
  const rows = await readAccount(db, scope.userId, query);
  const compared = new Map<string, Compared>();
  for (const { key, change_id: row, live, name, source, mirror } of rows) {
    const before = compared.get(key)?.fields ?? [];
    const fields = name === null ? before : [...before, { name, source, mirror }];
    compared.set(key, { row: row ?? undefined, live: row !== null && live === true, fields });
  }
  return compared;
}

function ofKey(table: Table): RawBuilder<unknown> {
  return table.key === undefined ? sql`` : sql`and t.${sql.id(table.key.column)} = x.k`;
}

/** Rows that a new column does not cover yet: change IDs above `after`, up to `until`. */
interface UnfilledRows {
  readonly after: string;
  readonly until: string;
}

async function unfilledColumns(db: Db, { userId, collection }: Scope): Promise<Map<string, UnfilledRows>> {
  const { rows } = await db.sql<{ field: string; done_through: string; until: string }>`
    select b.field, b.done_through, b.until from ${db.stateTable('backfill')} as b
    where b._user_id = ${userId}::bigint and b.collection = ${collection}`;
  return new Map(rows.map(({ field, done_through: after, until }) => [field, { after, until }]));
}

async function setApart(
  db: Db,
  scope: Scope,
  unequal: readonly Unequal[],
  exclude: ReadonlySet<string>,
): Promise<UnequalItem[]> {
  if (unequal.length === 0) return [];
  const hashed = unequal.map(({ item, found }) => ({
    found,
    hash: itemHash(storableText(item.source, exclude)),
  }));
  const kept = await quarantinedAmong(
    db,
    scope,
    hashed.map(({ hash }) => hash),
  );
  const forgotten = await forgottenAmong(
    db,
    scope,
    unequal.map(({ found }) => found),
  );
  const isForgotten = ({ key, kind }: UnequalItem): boolean =>
    kind === 'missing' && (forgotten.parent || (key !== undefined && forgotten.keys.has(key)));
  return hashed.map(({ found, hash }) => {
    if (isForgotten(found)) return { ...found, kind: 'forgotten', fields: [] };
    if (!kept.has(hash)) return found;
    return found.kind === 'different'
      ? { ...found, stale: true }
      : { ...found, kind: 'quarantined', fields: [] };
  });
}
