import { collection } from '../model/collections.ts';
import { domainOf } from '../model/domain.ts';
import type { Db } from '../postgres/db.ts';
import { type ColumnType, valueKind } from './column-plan.ts';
import { historyColumns } from './history.ts';
import { DOMAIN_COLUMN, keyColumns, relation, type Table } from './table.ts';
import type { FieldColumn } from './write-rows.ts';

/** What is known of a collection's fields; `mirror.columns` shows it to readers. */
export interface ColumnRegistry {
  /** Fields that are written into columns, except those of the key. */
  readonly columns: readonly FieldColumn[];
  /** Columns that are about to replace one of them (set-column-type.ts): pages are not written into them. */
  readonly seconds: readonly FieldColumn[];
  /** Every registered field. */
  readonly fields: ReadonlySet<string>;
  /** Fields without a column so far: the table was full or locked, or MIRROR_SCHEMA_DRIFT is not `add`. */
  readonly waiting: readonly { readonly field: string; readonly type: ColumnType }[];
  /** `pg_class.relnatts`: rises with every added column. */
  readonly version: number;
  /** Names of all columns of the table and its history, including those added by hand. */
  readonly taken: ReadonlySet<string>;
  /** Columns that superseded versions are archived with. */
  readonly archived: readonly string[];
}

/** The table's columns have changed: read them again, and write the page again. */
export class StaleColumns extends Error {}

/** The registries that were read last, with their texts, by table: all accounts of a process share equal ones. */
const latest = new Map<string, { readonly text: string; readonly registry: ColumnRegistry }>();

export async function readRegistry(db: Db, table: Table): Promise<ColumnRegistry> {
  const names = await db.sql<{ name: string }>`
    select attname as name from pg_attribute
    where attrelid = ${relation(table)} and attnum > 0 and not attisdropped
    union
    select attname from pg_attribute
    where attrelid = ${relation(table, '_history')}
      and attnum > 0 and not attisdropped and attname not in ('_valid_from', '_valid_to', '_op')
    order by 1`;
  // `name` null: the field has no column. `usable`: the column has the registered type, so it was not changed by hand.
  const { rows: registered } = await db.sql<{
    field: string;
    name: string | null;
    type: ColumnType;
    number: number | null;
    usable: boolean;
  }>`
    select r.field, r.column_name as name, r.type, a.attnum as number, a.attname is not null as usable
    from ${db.table('_columns')} r
    left join pg_attribute a on a.attrelid = ${relation(table)} and a.attname = r.column_name and not a.attisdropped
      and format_type(a.atttypid, a.atttypmod) = case r.type when 'timestamptz' then 'timestamp with time zone' else r.type end
    where r.collection = ${table.name}
    order by r.field`;
  const keys = new Set(keyColumns(table));
  const taken = new Set(names.rows.map(({ name }) => name));
  const domain = taken.has(DOMAIN_COLUMN) ? domainColumn(table.name) : undefined;
  const registry: ColumnRegistry = {
    seconds: [...taken].flatMap((name) => {
      const number = Number(SECOND_COLUMN.exec(name)?.[1]);
      const replaced = registered.find((each) => each.number === number);
      return replaced === undefined ? [] : [{ field: replaced.field, name, type: replaced.type }];
    }),
    columns: [
      ...registered.flatMap(({ field, name, type, usable }) =>
        name !== null && usable && !keys.has(name) ? [{ field, name, type }] : [],
      ),
      ...(domain === undefined ? [] : [domain]),
    ],
    fields: new Set(registered.map(({ field }) => field)),
    waiting: registered.flatMap(({ field, name, type }) => (name === null ? [{ field, type }] : [])),
    version: await tableVersion(db, table),
    taken,
    archived: await historyColumns(db, table),
  };
  const text = JSON.stringify(registry, (_, value: unknown) => (value instanceof Set ? [...value] : value));
  const known = latest.get(table.name);
  if (known?.text === text) return known.registry;
  latest.set(table.name, { text, registry });
  return registry;
}

/** The table's version now. It stays the same in a transaction that has read the table. */
export async function tableVersion(trx: Db, table: Table): Promise<number> {
  const { rows } = await trx.sql<{ relnatts: number }>`
    select relnatts from pg_class where oid = ${relation(table)}`;
  return rows[0]?.relnatts ?? 0;
}

/** The domain column's key in the sent row. No field with a column contains U+FFFD (column-plan.ts). */
const DOMAIN_FIELD = '\ufffddomain';

/**
 * The column with an item's domain: of the first of its collection's domain fields that has one. Undefined for a
 * collection whose items are not companies.
 */
export function domainColumn(name: string): FieldColumn | undefined {
  const entry = collection(name);
  const from = entry.kind === 'list' ? entry.domainFields : undefined;
  if (from === undefined) return undefined;
  const value = (fields: ReadonlyMap<string, string>): string | undefined => {
    for (const field of from) {
      const source = fields.get(field);
      if (source === undefined || valueKind(source) !== 'string') continue;
      const domain = domainOf(JSON.parse(source) as string);
      if (domain !== undefined) return domain;
    }
    return undefined;
  };
  return { field: DOMAIN_FIELD, name: DOMAIN_COLUMN, type: 'text', derived: { from, value } };
}

/**
 * Names of columns that are being filled to replace another column (src/operate/set-column-type.ts); views and copies
 * leave them out. A name has the replaced column's number (`pg_attribute.attnum`) and a number that is never reused.
 */
export const SECOND_COLUMN = /^_set_type_([0-9]+)_[0-9]+$/;
