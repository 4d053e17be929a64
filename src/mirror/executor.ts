import type { Kysely } from 'kysely';

/** A database or a transaction: tables are named in the statements. */
export type Executor = Kysely<unknown>;
