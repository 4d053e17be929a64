import type { ColumnType } from 'kysely';

/**
 * Columns as Kysely sees them: read, inserted, updated. The driver gives `bigint` and `numeric` as strings, no digit
 * lost, and `timestamptz` as Date (milliseconds).
 */

/** bigint: decimal digits; numbers may be written. */
export type Bigint = ColumnType<string, string | number | bigint, string | number | bigint>;
export type BigintWithDefault = ColumnType<
  string,
  string | number | bigint | undefined,
  string | number | bigint
>;
export type BigintOrNull = ColumnType<
  string | null,
  string | number | bigint | null | undefined,
  string | number | bigint | null
>;
/**
 * jsonb: parsed when read (digits beyond double precision are lost: read `::text` where they matter), text when
 * written.
 */
export type Json = ColumnType<unknown, string, string>;
export type JsonWithDefault = ColumnType<unknown, string | undefined, string>;
export type JsonOrNull = ColumnType<unknown, string | null | undefined, string | null>;
export type OrNull<T> = ColumnType<T | null, T | null | undefined, T | null>;
