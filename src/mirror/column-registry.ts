import { collection } from '../model/collections.ts';
import { domainOf } from '../model/domain.ts';
import type { Db } from '../postgres/db.ts';
import { type ColumnType, valueKind } from './column-plan.ts';
import { historyColumns } from './history.ts';
import { DOMAIN_COLUMN, keyColumns, relation, type Table } from './table.ts';
import type { FieldColumn } from './write-rows.ts';

/** What is known of a collection's fields; `mirror.columns` shows it to readers. */
export interface ColumnRegistry {
  /** Fields that are written into columns, those of the key left out. */
  readonly columns: readonly FieldColumn[];
  /** Columns that are about to replace one of them (second-column.ts): pages are not written into them. */
  readonly seconds: readonly FieldColumn[];
  /** Every registered field. */
  readonly fields: ReadonlySet<string>;
  /** Fields without a column so far: the table was full or locked, or MIRROR_SCHEMA_DRIFT is not `add`. */
  readonly waiting: readonly Pick<RegistryRow, 'field' | 'type'>[];
  /** `pg_class.relnatts`: rises with every column that anybody adds. */
  readonly version: number;
  /** Names of all columns of the table and of its history, whoever made them. */
  readonly taken: ReadonlySet<string>;
  /** Columns that superseded versions are archived with. */
  readonly archived: readonly string[];
}

/** The table's columns have changed: read them again, and write the page again. */
export class StaleColumns extends Error {}

interface RegistryRow {
  readonly field: string;
  /** Null: the field has no column so far. */
  readonly name: string | null;
  readonly type: ColumnType;
  /** `pg_attribute.attnum`. */
  readonly number: number | null;
  /** The column has the registered type: nobody dropped or changed it. */
  readonly usable: boolean;
}

/** By table: what was read last, of whichever account, and its text. */
const latest = new Map<string, { readonly text: string; readonly registry: ColumnRegistry }>();

/** Reads what is known now. A thousand accounts of a process, which know the same, have one of it. */
export async function readRegistry(db: Db, table: Table): Promise<ColumnRegistry> {
  const registry = await readAnew(db, table);
  const text = JSON.stringify(registry, (_, value: unknown) => (value instanceof Set ? [...value] : value));
  const known = latest.get(table.name);
  if (known?.text === text) return known.registry;
  latest.set(table.name, { text, registry });
  return registry;
}

async function readAnew(db: Db, table: Table): Promise<ColumnRegistry> {
  const names = await db.sql<{ name: string }>`
    select attname as name from pg_attribute
    where attrelid = ${relation(table)} and attnum > 0 and not attisdropped
    union
    select attname from pg_attribute
    where attrelid = ${relation(table, '_history')}
      and attnum > 0 and not attisdropped and attname not in ('_valid_from', '_valid_to', '_op')
    order by 1`;
  const registered = await db.sql<RegistryRow>`
    select r.field, r.column_name as name, r.type, a.attnum as number, a.attname is not null as usable
    from ${db.table('_columns')} r
    left join pg_attribute a on a.attrelid = ${relation(table)} and a.attname = r.column_name and not a.attisdropped
      and format_type(a.atttypid, a.atttypmod) = case r.type when 'timestamptz' then 'timestamp with time zone' else r.type end
    where r.collection = ${table.name}
    order by r.field`;
  const keys = new Set(keyColumns(table));
  const taken = new Set(names.rows.map(({ name }) => name));
  const domain = taken.has(DOMAIN_COLUMN) ? domainColumn(table.name) : undefined;
  const seconds = [...taken].flatMap((name): FieldColumn[] => {
    const replaced = registered.rows.find(({ number }) => number === Number(SECOND_COLUMN.exec(name)?.[1]));
    return replaced === undefined ? [] : [{ field: replaced.field, name, type: replaced.type }];
  });
  return {
    seconds,
    columns: [
      ...registered.rows.flatMap(({ field, name, type, usable }) =>
        name !== null && usable && !keys.has(name) ? [{ field, name, type }] : [],
      ),
      ...(domain === undefined ? [] : [domain]),
    ],
    fields: new Set(registered.rows.map(({ field }) => field)),
    waiting: registered.rows.flatMap(({ field, name, type }) => (name === null ? [{ field, type }] : [])),
    version: await tableVersion(db, table),
    taken,
    archived: await historyColumns(db, table),
  };
}

/** The table's version now. It stays the same in a transaction that has read the table. */
export async function tableVersion(trx: Db, table: Table): Promise<number> {
  const { rows } = await trx.sql<{ relnatts: number }>`
    select relnatts from pg_class where oid = ${relation(table)}`;
  return rows[0]?.relnatts ?? 0;
}

/** No field that has a column contains U+FFFD (column-plan.ts), so no item can be taken for having this one. */
const DOMAIN_FIELD = '\ufffddomain';

/**
 * The domain of an item: that of the first of its collection's fields that has one. Undefined for a collection whose
 * items are no companies.
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
 * The name of a column that is being filled, to take the place of another one (src/operate/second-column.ts): views
 * and copies leave it out. It has the other one's number (`pg_attribute.attnum`), and one that never comes again.
 */
export const SECOND_COLUMN = /^_set_type_([0-9]+)_[0-9]+$/;
