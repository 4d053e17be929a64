import { type Kysely, sql } from 'kysely';

/**
 * Has a transaction's commit answered when it is on disk, also where the server is told not to wait for that
 * (synchronous_commit = off): for what the world outside hears of (an answered event, a claim before it is sent, reserved
 * slots), which a crash of the server must not take back. Other settings than `off` wait for at least that. Rows of
 * pages need none of it: what a crash takes back with their progress is read again.
 */
export async function commitDurably(trx: Kysely<unknown>): Promise<void> {
  await sql`
    select set_config('synchronous_commit', 'on', true)
    where current_setting('synchronous_commit') = 'off'`.execute(trx);
}
