import { type RawBuilder, sql } from 'kysely';
import { collection, type KeyType, type Scope } from '../model/collections.ts';

/** A collection's data table, and the parts of its key that follow `_user_id`. */
export interface Table {
  readonly schema: string;
  readonly name: string;
  /** Key of the parent, if rows belong to rows of another collection. */
  readonly parent: KeyPart | undefined;
  /** The item's own key; undefined for an endpoint that answers one object. */
  readonly key: KeyPart | undefined;
}

/** The column of tables whose rows are companies (docs/tables.md, "Companies"). */
export const DOMAIN_COLUMN = '_domain';

type KeyPart = Readonly<{ column: string; type: KeyType }>;

export function tableOf(schema: string, name: string): Table {
  const entry = collection(name);
  if (entry.kind === 'single') return { schema, name, parent: undefined, key: undefined };
  const parent = entry.parent && { column: entry.parent.column, type: entry.parent.keyType };
  return { schema, name, parent, key: { column: entry.keyField, type: entry.keyType } };
}

/** Columns of the primary key. */
export function keyColumns({ parent, key }: Table): string[] {
  return ['_user_id', ...[parent, key].flatMap((part) => part?.column ?? [])];
}

/** The table's quoted name in SQL; with a suffix that of its history or of a view on it. */
export function dataTable(table: Table, suffix = ''): RawBuilder<unknown> {
  return sql.id(table.schema, `${table.name}${suffix}`);
}

/** The table's OID as a value; null if it does not exist. */
export function relation(table: Table, suffix = ''): RawBuilder<unknown> {
  return sql`to_regclass(format('%I.%I', ${table.schema}::text, ${table.name + suffix}::text))`;
}

/** Condition for the rows of a scope in the data table aliased `t`. */
export function inScope(table: Table, scope: Scope): RawBuilder<boolean> {
  return sql`t._user_id = ${scope.userId}::bigint and ${inParent(table, scope)}`;
}

/** `inScope` without the account, which a writing statement names itself (docs/design/sql.md, "Rule 1"). */
export function inParent({ parent }: Table, scope: Scope): RawBuilder<boolean> {
  if (parent === undefined) return sql`true`;
  return sql`t.${sql.id(parent.column)} = ${scope.parent}::${typeName(parent)}`;
}

/** Condition for a scope's rows in a meta or state table, without the account, which each statement names. */
export function ofScope(alias: string, { collection: name, parent }: Scope): RawBuilder<boolean> {
  return sql`${sql.id(alias, 'collection')} = ${name} and ${sql.id(alias, 'parent')} = ${parent}`;
}

/** Condition: the row of the data table aliased `t` has the key of `k`. */
export function hasKey({ key }: Table): RawBuilder<boolean> {
  return key === undefined ? sql`true` : sql`t.${sql.id(key.column)} = k.key`;
}

/** SQL type of the table's key: text if an account has one row, whose key is empty. */
export function keyTypeName({ key }: Table): RawBuilder<unknown> {
  return key === undefined ? sql`text` : typeName(key);
}

export function typeName(part: KeyPart): RawBuilder<unknown> {
  return part.type === 'bigint' ? sql`bigint` : sql`text`;
}

// Keys compare as in `compareKeys`: bigint as such, text by length, then bytes. An index serves each: the primary key or
// the one named `…_order`.

/** The key column of the table aliased `t`. */
export function keyColumn(table: Table): RawBuilder<unknown> {
  if (table.key === undefined) throw new RangeError(`${table.name} has no keys`);
  return sql`t.${sql.id(table.key.column)}`;
}

/** Place of a row of `t` in key order; compares with `placeOf`. */
export function place(table: Table): RawBuilder<unknown> {
  const column = keyColumn(table);
  return table.key?.type === 'bigint' ? column : sql`(octet_length(${column}), ${column})`;
}

/** Place of `key` in key order. */
export function placeOf(table: Table, key: string): RawBuilder<unknown> {
  return table.key?.type === 'bigint' ? sql`${key}::bigint` : sql`(octet_length(${key}::text), ${key}::text)`;
}

/** Condition for the rows of `t` after `key` in rising key order; undefined: all rows. */
export function behind(table: Table, key: string | undefined): RawBuilder<unknown> {
  return key === undefined ? sql`true` : sql`${place(table)} > ${placeOf(table, key)}`;
}

/** For ORDER BY: by key, rising or falling. */
export function placeOrder(table: Table, order: 'up' | 'down'): RawBuilder<unknown> {
  const column = keyColumn(table);
  const way = order === 'up' ? sql`asc` : sql`desc`;
  return table.key?.type === 'bigint' ? sql`${column} ${way}` : sql`octet_length(${column}) ${way}, ${column} ${way}`;
}
