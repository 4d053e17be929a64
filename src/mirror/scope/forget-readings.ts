import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';

/**
 * Forgets what was concluded from answers that may be another account's, and is not yet carried out: rows in doubt. Rows
 * stay as they are.
 */
export async function forgetConclusions(trx: Db, userId: string): Promise<void> {
  await sql`delete from ${trx.stateTable('candidate')} where _user_id = ${userId}::bigint`.execute(trx);
  await sql`
    update ${trx.table('_collections')} set held_deletions = 0, waiting_deletions = 0
    where _user_id = ${userId}::bigint and held_deletions + waiting_deletions > 0`.execute(trx);
}

/**
 * Besides, forgets how far each list was read, and in which order it stands: a frontier or a cursor of another account's
 * leads past the own rows. Full walks are due.
 * @param now the database's time
 */
export async function forgetReadings(trx: Db, userId: string, now: Date): Promise<void> {
  await forgetConclusions(trx, userId);
  await sql`
    update ${trx.stateTable('scope')} set memory = '{}', full_walk = null
    where _user_id = ${userId}::bigint`.execute(trx);
  await sql`
    update ${trx.table('_collections')} set next_full_at = ${now}::timestamptz
    where _user_id = ${userId}::bigint`.execute(trx);
}
