import { hash } from 'node:crypto';
import { isPlainMoment, timestampText } from '../model/timestamp-text.ts';

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
 * Columns for new fields (docs/design/writing-a-page.md, "Columns"). A field with only nulls is left out, since it has
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
  const isPlain =
    type === 'bigint' ? PLAIN_INTEGER.test(source) : type !== 'timestamptz' || isPlainMoment(source);
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
