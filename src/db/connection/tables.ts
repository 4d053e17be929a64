import type { Kysely } from 'kysely';
import type { MirrorTables } from './mirror-tables.ts';
import type { SyncTables } from './sync-tables.ts';

/** Queries on the mirrored tables, by `db` or inside a transaction. */
export function mirrorTables(db: Kysely<unknown>, schema: string): Kysely<MirrorTables> {
  return db.withSchema(schema);
}

/** Queries on the daemon's own tables, by `db` or inside a transaction. */
export function syncTables(db: Kysely<unknown>, schema: string): Kysely<SyncTables> {
  return db.withSchema(`${schema}_sync`);
}
