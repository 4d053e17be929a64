import type { ColumnType } from 'kysely';

/**
 * Columns as Kysely sees them: read, inserted, updated. The driver gives `bigint` and `numeric` as strings, no digit
 * lost, and `timestamptz` as Date (milliseconds).
 */

export type OrNull<T> = ColumnType<T | null, T | null | undefined, T | null>;

type Digits = string | number | bigint;
/** bigint: decimal digits; numbers may be written. */
export type Bigint = ColumnType<string, Digits, Digits>;
export type BigintWithDefault = ColumnType<string, Digits | undefined, Digits>;
export type BigintOrNull = ColumnType<string | null, Digits | null | undefined, Digits | null>;

/** jsonb: parsed when read (where digits beyond double precision matter, read `::text`), text when written. */
export type Json = ColumnType<unknown, string, string>;
export type JsonWithDefault = ColumnType<unknown, string | undefined, string>;
export type JsonOrNull = ColumnType<unknown, string | null | undefined, string | null>;
