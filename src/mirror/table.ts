import { type RawBuilder, sql } from 'kysely';
import { collection, type KeyType, type Scope } from '../model/collections.ts';

/** A collection's table, and the parts of its key that follow `_user_id`. */
export interface Table {
  readonly schema: string;
  readonly name: string;
  /** The parent's key, where rows belong to the rows of another collection. */
  readonly parent: KeyPart | undefined;
  /** The item's own key; undefined for an endpoint that answers one object. */
  readonly key: KeyPart | undefined;
}

export interface KeyPart {
  readonly column: string;
  readonly type: KeyType;
}

export function tableOf(schema: string, name: string): Table {
  const entry = collection(name);
  if (entry.kind === 'single') return { schema, name, parent: undefined, key: undefined };
  const { parent } = entry;
  return {
    schema,
    name,
    parent: parent === undefined ? undefined : { column: parent.column, type: parent.keyType },
    key: { column: entry.keyField, type: entry.keyType },
  };
}

/** Columns of the primary key. */
export function keyColumns(table: Table): string[] {
  return [
    '_user_id',
    ...[table.parent, table.key].flatMap((part) => (part === undefined ? [] : [part.column])),
  ];
}

/** The table's name in SQL, quoted. */
export function dataTable(table: Table, suffix = ''): RawBuilder<unknown> {
  return sql.id(table.schema, `${table.name}${suffix}`);
}

/** The rows of a scope: condition on the table named (or aliased) `t`. */
export function inScope(table: Table, scope: Scope): RawBuilder<boolean> {
  const user = sql<boolean>`t._user_id = ${scope.userId}::bigint`;
  if (table.parent === undefined) return user;
  return sql`${user} and t.${sql.id(table.parent.column)} = ${scope.parent}::${typeName(table.parent)}`;
}

/** Type of the table's key as SQL: text where an account has one row, whose key is empty. */
export function keyTypeName({ key }: Table): RawBuilder<unknown> {
  return key === undefined ? sql`text` : typeName(key);
}

/** `bigint` or `text` as SQL. */
export function typeName(part: KeyPart): RawBuilder<unknown> {
  return part.type === 'bigint' ? sql`bigint` : sql`text`;
}
