import type { SchemaElement } from 'hyparquet-writer';
import type { ResultColumn } from '../../db/roles/read-only-query.ts';

/** What the Parquet writer takes; null where the row has no value. */
export type ParquetValue = string | number | bigint | boolean | Uint8Array | null;

/** A column of a Parquet file, once all its values are known. */
export interface ParquetColumn {
  readonly element: SchemaElement;
  /** As readers call the type: `DECIMAL(38,2)`. */
  readonly type: string;
  /** Why it is text though Postgres's type is not; undefined where nothing was given up. */
  readonly textBecause?: string;
  /** A value in Postgres's text form, as the writer takes it. */
  readonly encode: (text: string) => ParquetValue;
}

/** Sees every value of a column before its type is chosen: the type is one that all of them fit, exactly. */
export interface ColumnFit {
  see(text: string): void;
  column(): ParquetColumn;
}

/** Digits of Parquet's widest DECIMAL that readers know. */
const MOST_DIGITS = 38;
/** Bytes of a number with so many digits, in two's complement. */
const DECIMAL_BYTES = 16;

const NUMERIC = /^(-?)0*(\d*?)(?:\.(\d+))?$/;
/** Years 1 to 9999: what is beyond, `infinity` or BC has no form that all readers know. */
const DATE = /^\d{4}-\d\d-\d\d$/;
const MOMENT = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/;
const DAY_MS = 86_400_000;

/** By Postgres's type; arrays, ranges, JSON and all others are their text. */
export function fitColumn({ name, type }: Pick<ResultColumn, 'name' | 'type'>): ColumnFit {
  const optional = { name, repetition_type: 'OPTIONAL' } as const;
  const text: ParquetColumn = {
    element: { ...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
    type: 'STRING',
    encode: (value) => value,
  };
  switch (type) {
    case 16:
      return always({
        element: { ...optional, type: 'BOOLEAN' },
        type: 'BOOLEAN',
        encode: (value) => value === 't',
      });
    case 17:
      return always({
        element: { ...optional, type: 'BYTE_ARRAY' },
        type: 'BYTE_ARRAY',
        // After `\x`.
        encode: (value) => Buffer.from(value.slice(2), 'hex'),
      });
    case 20:
    // An OID is unsigned: 32 bits don't do.
    case 26:
      return always({ element: { ...optional, type: 'INT64' }, type: 'INT64', encode: BigInt });
    case 21:
    case 23:
      return always({ element: { ...optional, type: 'INT32' }, type: 'INT32', encode: Number });
    case 700:
      return always({ element: { ...optional, type: 'FLOAT' }, type: 'FLOAT', encode: Number });
    case 701:
      return always({ element: { ...optional, type: 'DOUBLE' }, type: 'DOUBLE', encode: Number });
    case 1082:
      return where(DATE, text, {
        element: { ...optional, type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
        type: 'DATE',
        encode: (value) => Date.parse(`${value}T00:00:00Z`) / DAY_MS,
      });
    case 1184:
      return where(MOMENT, text, {
        element: {
          ...optional,
          type: 'INT64',
          converted_type: 'TIMESTAMP_MICROS',
          logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
        },
        type: 'TIMESTAMP',
        encode: microseconds,
      });
    case 1700:
      return decimal(optional, text);
    default:
      return always(text);
  }
}

function always(column: ParquetColumn): ColumnFit {
  return { see: () => {}, column: () => column };
}

/** `column` where all values look like `form`, else `text`. */
function where(form: RegExp, text: ParquetColumn, column: ParquetColumn): ColumnFit {
  let strange: string | undefined;
  return {
    see: (value) => {
      if (strange === undefined && !form.test(value)) strange = value;
    },
    column: () =>
      strange === undefined
        ? column
        : { ...text, textBecause: `${strange} is no ${column.type} that all readers know` },
  };
}

/** Every digit of all values, the longest fraction and the longest integer, must fit into the one type. */
function decimal(optional: { name: string; repetition_type: 'OPTIONAL' }, text: ParquetColumn): ColumnFit {
  let whole = 0;
  let scale = 0;
  let strange: string | undefined;
  return {
    see: (value) => {
      const [found, , integer = '', fraction = ''] = NUMERIC.exec(value) ?? [];
      if (found === undefined) strange ??= value;
      if (integer.length > whole) whole = integer.length;
      if (fraction.length > scale) scale = fraction.length;
    },
    column: () => {
      if (strange !== undefined) return { ...text, textBecause: `${strange} is no DECIMAL` };
      if (whole + scale > MOST_DIGITS) {
        return {
          ...text,
          textBecause: `its ${whole} digits before and ${scale} behind the point exceed the ${MOST_DIGITS} of a DECIMAL`,
        };
      }
      const precision = MOST_DIGITS;
      return {
        element: {
          ...optional,
          type: 'FIXED_LEN_BYTE_ARRAY',
          type_length: DECIMAL_BYTES,
          converted_type: 'DECIMAL',
          logical_type: { type: 'DECIMAL', precision, scale },
          precision,
          scale,
        },
        type: `DECIMAL(${precision},${scale})`,
        encode: (value) => {
          const [integer = '', fraction = ''] = value.split('.');
          // The sign stays with the digits: "-0.5" is -05 tenths.
          return BigInt(integer + fraction.padEnd(scale, '0'));
        },
      };
    },
  };
}

/** Since 1970, of a moment in UTC that looks like `MOMENT`. */
function microseconds(value: string): bigint {
  const [, day = '', time = '', fraction = ''] = MOMENT.exec(value) ?? [];
  return BigInt(Date.parse(`${day}T${time}Z`)) * 1_000n + BigInt(fraction.padEnd(6, '0'));
}
