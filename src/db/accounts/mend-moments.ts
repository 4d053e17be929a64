import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import type { Fence } from '../../model/fence.ts';
import { fenced } from '../ownership/fenced.ts';

/** How far (ms) the moment of something that has happened may lie ahead of the database's clock. */
const MARGIN_MS = 15_000;

/**
 * Moments of what has happened, for which something waits: when a scope was read, since when a row is suspected or
 * unfinished. They lie ahead after the database's clock went back, and everything would wait until it has caught up.
 */
const HAPPENED: readonly (readonly [table: string, column: string])[] = [
  ['scope', 'last_read_at'],
  ['scope', 'full_at'],
  ['candidate', 'at'],
  ['unsettled', 'since'],
  ['registration', 'checked_at'],
  ['registration', 'registering_at'],
  ['registration', 'registered_at'],
  ['registration', 'verified_at'],
  ['registration', 'suspect_at'],
];

/**
 * Sets moments that lie ahead of the database's clock to now. To be called when an account is opened: a clock that
 * goes back has all accounts opened again (heartbeat.ts).
 */
export async function mendMoments(db: Db, fence: Fence): Promise<void> {
  const { userId } = fence;
  await fenced(db, fence, async (trx, now) => {
    const ahead = new Date(now.getTime() + MARGIN_MS);
    for (const [table, column] of HAPPENED) {
      await trx.sql`
        update ${trx.stateTable(table)} as t set ${sql.id(column)} = ${now}::timestamptz
        where t._user_id = ${userId}::bigint and t.${sql.id(column)} > ${ahead}::timestamptz`;
    }
    // Nobody knows when their requests were sent: all of them may count for a window from now on.
    await trx.sql`
      update ${trx.stateTable('slot_block')} as t set valid_until = ${now}::timestamptz, freed = '{}'
      where t._user_id = ${userId}::bigint and t.valid_until > ${ahead}::timestamptz`;
    await trx.sql`
      update ${trx.table('quarantine')} as t set last_seen_at = ${now}::timestamptz
      where t._user_id = ${userId}::bigint and t.last_seen_at > ${ahead}::timestamptz`;
  });
}
