import { hash } from 'node:crypto';
import { collection } from '../model/collections.ts';
import { domainOf, isPlainMoment, timestampText } from '../model/values.ts';
import type { Db } from '../postgres/db.ts';
import { historyColumns } from './history.ts';
import { DOMAIN_COLUMN, keyColumns, relation, type Table } from './table.ts';

/** Bytes of a name; PostgreSQL silently truncates longer ones. */
const MAX_NAME_BYTES = 63;
const SUFFIX_DIGITS = 6;

/**
 * PostgreSQL's reserved words of both kinds and its system columns. Without quotes they can't be column names or mean
 * something else (`user` is the session's user).
 */
const RESERVED = new Set(
  (
    'all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate ' +
    'collation column concurrently constraint create cross current_catalog current_date current_role ' +
    'current_schema current_time current_timestamp current_user default deferrable desc distinct do else end ' +
    'except false fetch for foreign freeze from full grant group having ilike in initially inner intersect into ' +
    'is isnull join lateral leading left like limit localtime localtimestamp natural not notnull null offset on ' +
    'only or order outer overlaps placing primary references returning right select session_user similar some ' +
    'symmetric system_user table tablesample then to trailing true union unique user using variadic verbose ' +
    'when where window with ' +
    'tableoid cmax xmax cmin xmin ctid'
  ).split(' '),
);

/**
 * The column name of a field: the field's name in snake_case. It gets a suffix, which depends on the field alone, if it
 * is taken, begins with an underscore like the mirror's own columns, is reserved, empty, too long or no plain
 * identifier.
 * @param taken names of the existing columns
 */
export function columnName(field: string, taken: ReadonlySet<string>): string {
  const snake = snakeCase(field);
  const plain = snake.replace(/^_+/, '');
  const bare =
    plain === snake &&
    /^\p{L}/u.test(plain) &&
    !RESERVED.has(plain) &&
    Buffer.byteLength(plain) <= MAX_NAME_BYTES &&
    !taken.has(plain);
  if (bare) return plain;
  const digits = hash('sha256', field, 'hex');
  const stem = /^\p{L}/u.test(plain) ? plain : plain === '' ? 'field' : `field_${plain}`;
  for (let length = SUFFIX_DIGITS; length < digits.length; length += 1) {
    const suffix = `_${digits.slice(0, length)}`;
    const begin = Buffer.from(stem).subarray(0, MAX_NAME_BYTES - suffix.length);
    // A character that is cut in two is left out.
    const name = new TextDecoder().decode(begin, { stream: true }) + suffix;
    if (!taken.has(name)) return name;
  }
  throw new RangeError(`no free column name for the field ${JSON.stringify(field)}`);
}

/** `companyURL` → `company_url`, `HTMLBody 2` → `html_body_2`, `größe` stays; a leading underscore stays. */
function snakeCase(field: string): string {
  return field
    .normalize('NFC')
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1_$2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    .replace(/_$/, '');
}

/** Most bytes of a field name with a column; longer ones stay in `_raw`, unregistered. */
const MAX_FIELD_BYTES = 1024;

/** Most columns of a table; further fields stay in `_raw`. PostgreSQL's limit is 1600, dropped ones included. */
export const MAX_COLUMNS = 300;

/** A field of a collection and its column; `name` undefined: the field stays in `_raw` alone. */
export type PlannedColumn = Readonly<{ field: string; name: string | undefined; type: ColumnType }>;

/** `MIRROR_SCHEMA_DRIFT`: only `add` makes columns for new fields. */
export type SchemaDrift = 'add' | 'freeze' | 'raw';

/**
 * Columns for new fields (docs/design/what-does-not-fit.md, "Columns"). A field with only nulls is left out, since it has
 * no type yet. Fields whose names are plain column names come first, then the others by name.
 * @param input.values source texts of some values, by field
 * @param input.waiting registered fields without a column: they come before all others
 * @param input.taken names of all columns of the table, including those added by hand
 */
export function planColumns(input: {
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly waiting: readonly { readonly field: string; readonly type: ColumnType }[];
  readonly taken: ReadonlySet<string>;
  readonly drift: SchemaDrift;
}): PlannedColumn[] {
  const taken = new Set(input.taken);
  const fields = [...input.values.keys()].filter(storableName).sort();
  const plain = (field: string): boolean => columnName(field, new Set()) === field;
  const wanted = [
    ...input.waiting,
    ...[...fields.filter(plain), ...fields.filter((field) => !plain(field))].map((field) => ({
      field,
      type: columnType(field, input.values.get(field) ?? []),
    })),
  ];
  return wanted.flatMap(({ field, type }): PlannedColumn[] => {
    if (type === undefined) return [];
    if (input.drift !== 'add' || taken.size >= MAX_COLUMNS) return [{ field, name: undefined, type }];
    const name = columnName(field, taken);
    taken.add(name);
    return [{ field, name, type }];
  });
}

/**
 * Whether a field of this name can have a column. PostgreSQL's text can't hold U+0000 or lone surrogates, and `_raw`
 * has U+FFFD instead: with such a name, a column could get another field's value.
 */
export function storableName(field: string): boolean {
  return !/[\0\ufffd]/.test(field) && field.isWellFormed() && Buffer.byteLength(field) <= MAX_FIELD_BYTES;
}

const INTEGER_NAME = /^(?:id|.*_id|.*_count)$/;
/** Names of fields with points in time, as the whole column name or its last words. */
const TIME_NAME =
  /(?:^|_)(?:at|on|ts|time|timestamp|date|datetime|since|until|created|updated|modified|changed|deleted|started|finished|completed|ended|expires|expiry|last_seen)$/;

/**
 * A field’s column type (docs/tables.md, "Columns for fields"), by its values’ most frequent kind; undefined: all null.
 */
export function columnType(field: string, sources: readonly string[]): ColumnType | undefined {
  const byKind = Map.groupBy(sources, valueKind);
  byKind.delete('null');
  const [kind, values = []] = [...byKind].toSorted(([, a], [, b]) => b.length - a.length)[0] ?? [];
  const snake = columnName(field, new Set());
  if (kind === 'string') {
    const moments = values.map((source) => timestampText(JSON.parse(source) as string));
    return TIME_NAME.test(snake) && !moments.includes(undefined) ? 'timestamptz' : 'text';
  }
  if (kind === 'number') {
    return INTEGER_NAME.test(snake) && !values.map(integerText).includes(undefined) ? 'bigint' : 'numeric';
  }
  if (kind === 'boolean') return 'boolean';
  return kind === 'structure' ? 'jsonb' : undefined;
}

/** Types of field columns (docs/tables.md, "Columns for fields"). */
export const COLUMN_TYPES = ['text', 'timestamptz', 'numeric', 'bigint', 'boolean', 'jsonb'] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];

type ValueKind = 'string' | 'number' | 'boolean' | 'null' | 'structure';

/** Kind of a JSON value, by the first character of its source text. */
export function valueKind(source: string): ValueKind {
  const first = source.charAt(0);
  if (first === '"') return 'string';
  if (first === '{' || first === '[') return 'structure';
  if (first === 't' || first === 'f') return 'boolean';
  return first === 'n' ? 'null' : 'number';
}

/** Kind of value that a column accepts; jsonb accepts all. */
const KIND_OF: Record<Exclude<ColumnType, 'jsonb'>, ValueKind> = {
  text: 'string',
  timestamptz: 'string',
  numeric: 'number',
  bigint: 'number',
  boolean: 'boolean',
};

/** Shared: most values of a page are these. */
const STORED = { as: 'stored' } as const;

/**
 * The value of a column from a JSON text, without losing a digit: as `_raw` has it (`stored`), another text, or none
 * (`conflict`): a value that does not fit is NULL in the column, counted, and complete in `_raw`.
 */
export function columnValue(
  type: ColumnType,
  source: string,
): { readonly as: 'stored' | 'conflict' } | { readonly as: 'text'; readonly text: string } {
  const kind = valueKind(source);
  if (kind === 'null' || type === 'jsonb') return STORED;
  if (kind !== KIND_OF[type]) return { as: 'conflict' };
  const isPlain = type === 'bigint' ? PLAIN_INTEGER.test(source) : type !== 'timestamptz' || isPlainMoment(source);
  if (isPlain) return STORED;
  const text = type === 'bigint' ? integerText(source) : timestampText(JSON.parse(source) as string);
  return text === undefined ? { as: 'conflict' } : { as: 'text', text };
}

/** An integer as `integerText` spells it, with fewer digits than the limit of 64 bits. */
const PLAIN_INTEGER = /^(?:0|[1-9]\d{0,17})$/;

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Most digits of a 64-bit integer. */
const INT8_DIGITS = 19;
const INT8_MIN = -(2n ** 63n);
const INT8_MAX = 2n ** 63n - 1n;

/**
 * A JSON number as an integer, whatever its spelling: `100`, `100.0`, `1e2`. Only the value counts: jsonb keeps no
 * exponents, and a column that is filled later from `_raw` must get the same.
 * @returns undefined if it is not an integer or exceeds 64 bits
 */
export function integerText(source: string): string | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(source) ?? [];
  if (sign === undefined) return undefined;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return '0';
  let end = digits.length;
  while (digits.charAt(end - 1) === '0') end -= 1;
  // Zeros between the last non-zero digit and the decimal point.
  const zeros = Number(exponent) - fraction.length + (digits.length - end);
  if (zeros < 0 || end + zeros > INT8_DIGITS) return undefined;
  const integer = BigInt(`${sign}${digits.slice(0, end)}${'0'.repeat(zeros)}`);
  return integer < INT8_MIN || integer > INT8_MAX ? undefined : integer.toString();
}

/** A field that has a column. */
export interface FieldColumn {
  readonly field: string;
  readonly name: string;
  readonly type: ColumnType;
  /** Set for a computed column: `field` is then only the value's name in the sent row. */
  readonly derived?: {
    /** Fields that it is computed from. */
    readonly from: readonly string[];
    /** @param fields source texts, by field; undefined: NULL */
    readonly value: (fields: ReadonlyMap<string, string>) => string | undefined;
  };
}

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
  const known = db.known.registries.get(table.name);
  if (known?.text === text) return known.registry as ColumnRegistry;
  db.known.registries.set(table.name, { text, registry });
  return registry;
}

/** The table's version now. It stays the same in a transaction that has read the table. */
export async function tableVersion(trx: Db, table: Table): Promise<number> {
  const { rows } = await trx.sql<{ relnatts: number }>`
    select relnatts from pg_class where oid = ${relation(table)}`;
  return rows[0]?.relnatts ?? 0;
}

/** The domain column's key in the sent row. No field with a column contains U+FFFD (`columnName`). */
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
