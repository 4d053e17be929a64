import type { ColumnType } from 'kysely';

/**
 * Columns as Kysely sees them: read, inserted, updated. The driver gives `bigint` and `numeric` as strings, no digit
 * lost, and `timestamptz` as Date (milliseconds).
 */

/** A column that may be null. */
export type OrNull<T> = [T] extends [ColumnType<infer Read, infer Inserted, infer Updated>]
  ? ColumnType<Read | null, Inserted | null | undefined, Updated | null>
  : ColumnType<T | null, T | null | undefined, T | null>;

/** A column with a default. Kysely's own knows columns alone that are read as they are written. */
export type Generated<T> = [T] extends [ColumnType<infer Read, infer Inserted, infer Updated>]
  ? ColumnType<Read, Inserted | undefined, Updated>
  : ColumnType<T, T | undefined, T>;

type Digits = string | number | bigint;
/** bigint: decimal digits; numbers may be written. */
export type Bigint = ColumnType<string, Digits, Digits>;

/** jsonb: parsed when read (where digits beyond double precision matter, read `::text`), text when written. */
export type Json = ColumnType<unknown, string, string>;
