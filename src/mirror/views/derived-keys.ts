import { type RawBuilder, sql } from 'kysely';
import { keyColumns, type KeyPart, type Table } from '../table.ts';

/** A text made of the key's columns: a single-column key for BI tools. */
export interface DerivedKey {
  readonly name: '_key' | '_list_key';
  /** Immutable: an index can have it, and serves what asks the view for the column. */
  readonly expression: RawBuilder<unknown>;
  /** Of the view's column. */
  readonly comment: string;
}

/** `_key` of each table, and `_list_key` of one whose rows belong to the rows of another. */
export function derivedKeys(table: Table): readonly DerivedKey[] {
  const { parent, key } = table;
  const names = keyColumns(table);
  const parts = [parent, key].filter((part) => part !== undefined);
  const whole: DerivedKey = {
    name: '_key',
    expression: joined(names, parts),
    comment: 'By the mirror: the whole primary key as one text, for tools that join by one column.',
  };
  if (parent === undefined) return [whole];
  const ofParent: DerivedKey = {
    name: '_list_key',
    expression: joined(names.slice(0, -1), [parent]),
    comment: 'By the mirror: the _key of the list in lists_live.',
  };
  return [whole, ofParent];
}

/** @param parts of the key, after `_user_id`, which is a bigint */
function joined(names: readonly string[], parts: readonly KeyPart[]): RawBuilder<unknown> {
  const isNumber = (name: string): boolean => parts.find(({ column }) => column === name)?.type !== 'text';
  // The cast of a number is immutable, what `bigint || text` does is not.
  return sql.join(
    names.map((name) => (isNumber(name) ? sql`${sql.id(name)}::text` : sql.id(name))),
    sql` || ':' || `,
  );
}
