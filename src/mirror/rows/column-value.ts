import { isPlainMoment, timestampText } from '../../model/json/timestamp-text.ts';

/** Types of the columns that fields become (docs/tables.md, "Columns for fields"). */
export const COLUMN_TYPES = ['text', 'timestamptz', 'numeric', 'bigint', 'boolean', 'jsonb'] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];

export type ValueKind = 'string' | 'number' | 'boolean' | 'null' | 'structure';

/** What a JSON value is, by the first character of its source text. */
export function valueKind(source: string): ValueKind {
  switch (source.charAt(0)) {
    case '"':
      return 'string';
    case '{':
    case '[':
      return 'structure';
    case 't':
    case 'f':
      return 'boolean';
    case 'n':
      return 'null';
    default:
      return 'number';
  }
}

/** What the column gets: the value as `_raw` has it, another text, or nothing. */
export type ColumnValue =
  | { readonly as: 'stored' }
  | { readonly as: 'text'; readonly text: string }
  /** It does not fit: NULL in the column, counted, whole in `_raw`. */
  | { readonly as: 'conflict' };

const STORED: ColumnValue = { as: 'stored' };
const CONFLICT: ColumnValue = { as: 'conflict' };

/** The kind of value that a column takes; jsonb takes all. */
const KIND_OF: Record<Exclude<ColumnType, 'jsonb'>, ValueKind> = {
  text: 'string',
  timestamptz: 'string',
  numeric: 'number',
  bigint: 'number',
  boolean: 'boolean',
};

function asText(text: string | undefined): ColumnValue {
  return text === undefined ? CONFLICT : { as: 'text', text };
}

/** Fits a value, given as its JSON text, into a column without losing a digit. */
export function columnValue(type: ColumnType, source: string): ColumnValue {
  const kind = valueKind(source);
  if (kind === 'null' || type === 'jsonb') return STORED;
  if (kind !== KIND_OF[type]) return CONFLICT;
  if (type === 'bigint' && PLAIN_INTEGER.test(source)) return STORED;
  if (type === 'timestamptz' && isPlainMoment(source)) return STORED;
  if (type === 'bigint') return asText(integerText(source));
  if (type === 'timestamptz') return asText(timestampText(JSON.parse(source) as string));
  return STORED;
}

/** An integer as `integerText` spells it, with fewer digits than 64 bits may have. */
const PLAIN_INTEGER = /^(?:0|[1-9]\d{0,17})$/;

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Digits that a 64-bit integer has at most. */
const INT8_DIGITS = 19;
const INT8_MIN = -(2n ** 63n);
const INT8_MAX = 2n ** 63n - 1n;

/**
 * The integer that a JSON number is, however it is spelled: `100`, `100.0`, `1e2`. Only the value counts, since jsonb
 * keeps no exponents, and a column that is filled later, from `_raw`, must get the same.
 * @returns undefined where it is not an integer or needs over 64 bits
 */
export function integerText(source: string): string | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(source) ?? [];
  if (sign === undefined) return undefined;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return '0';
  let end = digits.length;
  while (digits.charAt(end - 1) === '0') end -= 1;
  // Zeros between the last digit that is not 0 and the decimal point.
  const zeros = Number(exponent) - fraction.length + (digits.length - end);
  if (zeros < 0 || end + zeros > INT8_DIGITS) return undefined;
  const integer = BigInt(`${sign}${digits.slice(0, end)}${'0'.repeat(zeros)}`);
  return integer < INT8_MIN || integer > INT8_MAX ? undefined : integer.toString();
}
