import { columnValue, type FieldColumn, valueKind } from './columns.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Scope } from '../model/collections.ts';
import { canonicalText, fieldSource, fieldSources } from '../model/json-text.ts';
import { jsonbText } from '../model/values.ts';
import { allSent, type Db } from '../postgres/db.ts';
import type { ChangedRow, KeyedItem } from './page-record.ts';
import { archiveRows } from './history.ts';
import { dataTable, keyColumns, keyTypeName, type Table, typeName } from './table.ts';

/** Settings of one write. */
export interface RowWrite {
  readonly table: Table;
  readonly scope: Scope;
  readonly columns: readonly FieldColumn[];
  /** `_changed_at`: start of the transaction by the database's clock. */
  readonly at: Date;
  /** Columns of archived versions; undefined: no history is kept. */
  readonly archived: readonly string[] | undefined;
}

/** Postgres wrote other rows than were sent, without an error. */
export class RowsNotWritten extends Error {}

/**
 * Inserts and updates rows from one JSON parameter that SQL expands (docs/design/writing-a-page.md, "Write"). A
 * statement before it (docs/design/sql.md, "Rule 3") archives the versions that updates supersede; an undeletion
 * supersedes none. `ON CONFLICT … WHERE` is only a guard: the rows are known to differ.
 * @param before the last change ID before theirs
 * @throws RowsNotWritten if SQL did not write exactly the rows that were sent
 */
export async function writeRows(trx: Db, write: RowWrite, rows: readonly RowPayload[], before: bigint) {
  if (rows.length === 0) return;
  const { table, scope, columns, at, archived } = write;
  const superseded = rows.filter(({ row }) => row.change === 'updated').map(({ row }) => row.key);
  const archive =
    archived === undefined ? undefined : archiveRows(trx, table, scope, superseded, at, 'update', archived);
  const keys = keyColumns(table);
  const ours = ['_change_id', '_deleted_at', '_hash', '_raw', '_verbatim'];
  const values = [...columns.map((column) => column.name), ...ours];
  const names = [...keys, '_first_seen_at', '_changed_at', ...values].map((name) => sql.id(name));
  const keyValues: RawBuilder<unknown>[] = [sql`a._user_id`];
  if (table.parent !== undefined) keyValues.push(sql`${scope.parent}::${typeName(table.parent)}`);
  if (table.key !== undefined) keyValues.push(sql`x.k`);
  const insert = trx.sql`
    insert into ${dataTable(table)} as t (${sql.join(names)})
    select ${sql.join(keyValues)}, ${at}::timestamptz, ${at}::timestamptz, ${sql.join([
      ...columns.map(columnExpression),
      sql`x.c, null::timestamptz, decode(x.h, 'hex'), x.r, x.v`,
    ])}
    from ${trx.stateTable('account')} as a
    cross join jsonb_to_recordset(${payloadText(rows, before)}::text::jsonb)
      as x (k ${keyTypeName(table)}, h text, c bigint, o jsonb, v text, r jsonb)
    where a._user_id = ${scope.userId}::bigint
    on conflict (${sql.join(keys.map((name) => sql.id(name)))}) do update
    set _changed_at = greatest(excluded._changed_at, t._changed_at),
      ${sql.join(values.map((name) => sql`${sql.id(name)} = excluded.${sql.id(name)}`))}
    where t._hash is distinct from excluded._hash or t._deleted_at is not null`;
  // Both have been sent, the archive first.
  const [result] = await allSent(insert, archive);
  const written = Number(result.numAffectedRows ?? 0n);
  if (written !== rows.length) {
    // Worded as a refusal: `status` recognises the cause by this text (problems.ts).
    throw new RowsNotWritten(
      `the database refuses (02000 ${table.name}: ${written} of ${rows.length} rows were written): a rule or trigger of the table discards the others`,
    );
  }
}

/** The column's value from the sent row: from `o` if it has the field, else the field's text in `_raw`. */
export function columnExpression({ field, type }: FieldColumn): RawBuilder<unknown> {
  const name = sql`${field}::text`;
  if (type === 'jsonb') return sql`case when x.o ? ${name} then null else nullif(x.r -> ${name}, 'null') end`;
  return sql`(case when x.o ? ${name} then x.o ->> ${name} else x.r ->> ${name} end)::${sql.raw(type)}`;
}

const DECIMAL = /^[+-]?\d{1,1000}(?:\.\d{1,1000})?(?:[eE][+-]?\d{1,3})?$/;
const AMOUNT_FIELDS = ['balance', 'amount', 'remaining', 'credits', 'value'];
const CENTS = /^cents?$/i;

/**
 * The account's remaining credits as an exact decimal. The service may send a number, a string with one, `{balance,
 * unit}`, or whole cents, as the unit or the field's name (`balance_cents`) shows.
 * @param source JSON text of the field `credits`
 * @returns a decimal for PostgreSQL's numeric; null for null; undefined for another shape
 */
function creditsText(source: string): string | null | undefined {
  const kind = valueKind(source);
  if (kind === 'null') return null;
  if (kind === 'number' || kind === 'string') {
    const text = kind === 'number' ? source : (JSON.parse(source) as string).trim();
    return DECIMAL.test(text) ? text : undefined;
  }
  if (kind !== 'structure') return undefined;
  for (const field of AMOUNT_FIELDS) {
    const cents = fieldSource(source, `${field}_cents`);
    const amount = cents ?? fieldSource(source, field);
    if (amount === undefined || valueKind(amount) === 'structure') continue;
    const text = creditsText(amount);
    const unit = fieldSource(source, 'unit') ?? 'null';
    const inCents = cents !== undefined || (valueKind(unit) === 'string' && CENTS.test(JSON.parse(unit) as string));
    if (typeof text !== 'string' || !inCents) return text;
    // A hundredth, with all digits: the exponent is two less.
    const [mantissa = '', exponent = '0'] = text.split(/[eE]/);
    return `${mantissa}e${Number(exponent) - 2}`;
  }
  return undefined;
}

/** A changed row as the write statement takes it. */
export type RowPayload = RowContent & { readonly row: ChangedRow };

/** The part of a sent row that comes from its item. */
export interface RowContent {
  /** Source texts of the fields that are stored. */
  readonly fields: ReadonlyMap<string, string>;
  /** A JSON object without its closing brace: the change ID follows. Concatenated by `+`, which copies nothing yet. */
  readonly json: string;
  /** Fields whose value did not fit their column. */
  readonly conflicts: readonly string[];
}

/**
 * The sent row of an item: `k` key, `h` hash, `r` the item for `_raw`, `v` its verbatim text if `_raw` can't hold all
 * its characters, and `o` the columns whose value is not the field's text in `_raw` (null: NULL).
 * @param exclude fields that are never stored
 */
export function rowContent(
  row: Pick<KeyedItem, 'key' | 'hash' | 'item'>,
  exclude: ReadonlySet<string>,
  collection: string,
  columns: readonly FieldColumn[],
): RowContent {
  const source = exclude.size === 0 ? row.item.source : canonicalText(row.item.source, exclude);
  const fields = fieldSources(source);
  const { raw, verbatim } = jsonbText(source);
  const { others, conflicts } = otherValues(fields, collection, columns);
  let json = `{"k":${JSON.stringify(row.key)},"h":"${row.hash}"`;
  if (others !== undefined) json += `,"o":${others}`;
  if (verbatim !== undefined) json += `,"v":${JSON.stringify(verbatim)}`;
  json += ',"r":';
  json += raw;
  return { fields, json, conflicts };
}

/**
 * Columns whose value is not the field's text, as a JSON object (undefined: none), and fields that do not fit their
 * column.
 */
export function otherValues(
  fields: ReadonlyMap<string, string>,
  collection: string,
  columns: readonly FieldColumn[],
): { readonly others: string | undefined; readonly conflicts: readonly string[] } {
  const others: string[] = [];
  const conflicts: string[] = [];
  for (const column of columns) {
    if (column.derived !== undefined) {
      // Sent even without a value: a field whose name Postgres can't store may have become this one in _raw.
      const derived = column.derived.value(fields) ?? null;
      others.push(`${JSON.stringify(column.field)}:${JSON.stringify(derived)}`);
      continue;
    }
    const value = fields.get(column.field);
    if (value === undefined) continue;
    let fitted = columnValue(column.type, value);
    if (collection === 'account' && column.field === 'credits') {
      const text = creditsText(value);
      fitted = text === undefined ? { as: 'conflict' } : text === null ? { as: 'stored' } : { as: 'text', text };
    }
    if (fitted.as === 'conflict') {
      conflicts.push(column.field);
      others.push(`${JSON.stringify(column.field)}:null`);
    } else if (fitted.as === 'text' && fitted.text !== value && `"${fitted.text}"` !== value) {
      others.push(`${JSON.stringify(column.field)}:${JSON.stringify(fitted.text)}`);
    }
  }
  return { others: others.length === 0 ? undefined : `{${others.join(',')}}`, conflicts };
}

/** The statement's JSON parameter: the rows with their change IDs, counted up from `before`. */
export function payloadText(rows: readonly RowContent[], before: bigint): string {
  let text = '[';
  for (const [index, { json }] of rows.entries()) {
    if (index > 0) text += ',';
    text += json;
    text += `,"c":${before + BigInt(index) + 1n}}`;
  }
  return `${text}]`;
}
