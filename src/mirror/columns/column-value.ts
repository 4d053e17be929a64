import { timestampText } from './timestamp.ts';

/** Types of the columns that fields become (contract "Every further top-level field"). */
export const COLUMN_TYPES = ['text', 'timestamptz', 'numeric', 'bigint', 'boolean', 'jsonb'] as const;
export type ColumnType = (typeof COLUMN_TYPES)[number];

/** What a JSON value is, by the first character of its source text. */
export type ValueKind = 'string' | 'number' | 'boolean' | 'null' | 'structure';

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

/** How a value comes into its column: as `_raw` has it, as another text, or not at all. */
export type ColumnValue =
  | { readonly as: 'stored' }
  | { readonly as: 'text'; readonly text: string }
  /** It does not fit: NULL in the column, counted, whole in `_raw`. */
  | { readonly as: 'conflict' };

const STORED: ColumnValue = { as: 'stored' };
const CONFLICT: ColumnValue = { as: 'conflict' };

/** Of what kind a value must be for its column; jsonb takes all. */
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

/**
 * Fits a value into a column, without losing a digit.
 * @param source the value's JSON text
 */
export function columnValue(type: ColumnType, source: string): ColumnValue {
  const kind = valueKind(source);
  if (kind === 'null' || type === 'jsonb') return STORED;
  if (kind !== KIND_OF[type]) return CONFLICT;
  if (type === 'bigint') return asText(integerText(source));
  if (type === 'timestamptz') return asText(timestampText(JSON.parse(source) as string));
  return STORED;
}

const INTEGER = /^(-?\d{1,19})(?:\.0+)?$/;
const INT8_MIN = -(2n ** 63n);
const INT8_MAX = 2n ** 63n - 1n;

/** The integer that a JSON number is, spelled `5` or `5.0`; undefined where it is none or needs over 64 bits. */
export function integerText(source: string): string | undefined {
  const digits = INTEGER.exec(source)?.[1];
  if (digits === undefined) return undefined;
  const integer = BigInt(digits);
  return integer < INT8_MIN || integer > INT8_MAX ? undefined : integer.toString();
}
