import { sql } from 'kysely';
import type { Db } from '../../db/connection/db.ts';

/** A row that is kept out of the mirror. */
export interface RecordedRow {
  readonly userId: string;
  readonly collection: string;
  /** Hexadecimal (forgotten-key.ts). */
  readonly keyHash: string;
  readonly changeId: string;
  readonly forgottenAt: Date;
}

/** Of one account or of all, the last one first. */
export async function recordedRows(db: Db, userId: string | undefined): Promise<RecordedRow[]> {
  const { rows } = await db.sql<RecordedRow>`
    select f._user_id as "userId", f.collection, encode(f.key_hash, 'hex') as "keyHash", f._change_id as "changeId",
      f.forgotten_at as "forgottenAt"
    from ${db.table('forgotten')} as f
    ${userId === undefined ? sql`` : sql`where f._user_id = ${userId}::bigint`}
    order by f.forgotten_at desc, f._user_id, f.collection, f.key_hash`;
  return rows;
}
