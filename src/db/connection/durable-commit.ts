import type { Db } from './db.ts';

/**
 * Has a transaction's commit answered when it is on disk, also where the server is told not to wait for that
 * (synchronous_commit = off): for what the world outside hears of (an answered event, a claim before it is sent, what
 * came of it, reserved slots), and for what withdraws a suspicion that a crash would bring back. Other settings than
 * `off` wait for at least that. Rows of pages need none of it: a crash takes them back with their progress, and an owner
 * that remembers more than the database has finds out before it writes again (fenced.ts, scope-row.ts).
 */
export async function commitDurably(trx: Db): Promise<void> {
  await trx.sql`
    select set_config('synchronous_commit', 'on', true)
    where current_setting('synchronous_commit') = 'off'`;
}
