import { type RawBuilder, sql } from 'kysely';
import { COLLECTIONS } from '../../model/collections.ts';
import { derivedKeys } from '../views/derived-keys.ts';
import { CREATED_LIKE } from '../views/live-order.ts';
import { type Table, tableOf } from '../table.ts';

/** What an optional index is for: the question that it answers. */
export type IndexPurpose = 'key' | 'list' | 'domain' | 'status' | 'created' | 'changed';

/** An index that some mirrors want and others don't: a b-tree over one column or expression of a data table. */
export interface OptionalIndex {
  /** `<table>_by_<column>`, an underscore before our own columns left out. */
  readonly name: string;
  readonly table: Table;
  /** The column of the table, or of the view upon it, that it serves. */
  readonly column: string;
  readonly purpose: IndexPurpose;
  /** What it is made over. */
  readonly expression: RawBuilder<unknown>;
  /** The same as PostgreSQL prints it: tells an index of ours from somebody else's under its name. */
  readonly printed: string;
}

/** A column that a table has. */
export interface PresentColumn {
  readonly name: string;
  /** As `format_type` prints it. */
  readonly type: string;
}

const TIME = 'timestamp with time zone';

/** Columns that get an index where a table has them, with these types. */
const BY_COLUMN: readonly (readonly [IndexPurpose, RegExp, string])[] = [
  ['domain', /^_domain$/, 'text'],
  ['status', /^(?:status|state)$/, 'text'],
  ['created', CREATED_LIKE, TIME],
  ['changed', /^_changed_at$/, TIME],
];

/** Tables that may get optional indexes: those with more than one row an account. */
export function indexedTables(schema: string): readonly Table[] {
  return COLLECTIONS.filter(({ kind }) => kind === 'list').map(({ name }) => tableOf(schema, name));
}

/** The optional indexes that a table with these columns may have. */
export function optionalIndexes(table: Table, columns: readonly PresentColumn[]): readonly OptionalIndex[] {
  const ofKeys = derivedKeys(table).map((key): OptionalIndex => {
    const { name: column, expression, printed } = key;
    return {
      name: indexName(table, column),
      table,
      column,
      purpose: column === '_key' ? 'key' : 'list',
      expression,
      printed,
    };
  });
  const ofColumns = BY_COLUMN.flatMap(([purpose, pattern, type]) =>
    columns
      .filter((column) => pattern.test(column.name) && column.type === type)
      .map(({ name }): OptionalIndex => ({
        name: indexName(table, name),
        table,
        column: name,
        purpose,
        expression: sql.id(name),
        // None of the names that the patterns allow needs quotes.
        printed: name,
      })),
  );
  return [...ofKeys, ...ofColumns];
}

/** Whether there is such an index once its table has the column: it may be asked for before. */
export function mayComeLater(schema: string, name: string): boolean {
  return indexedTables(schema).some((table) => {
    const begin = `${table.name}_by_`;
    if (!name.startsWith(begin)) return false;
    const rest = name.slice(begin.length);
    const columns = [rest, `_${rest}`].flatMap((column) =>
      BY_COLUMN.map(([, , type]) => ({ name: column, type })),
    );
    return optionalIndexes(table, columns).some((each) => each.name === name);
  });
}

function indexName(table: Table, column: string): string {
  return `${table.name}_by_${column.replace(/^_/, '')}`;
}
