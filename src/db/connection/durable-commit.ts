import type { Db } from './db.ts';

/**
 * Makes this transaction's commit wait for the disk where synchronous_commit is `off`; every other setting waits
 * anyway. For what the outside learns (an answered event, a claim before it is sent and its outcome, reserved slots),
 * and for a withdrawn suspicion, which a crash would bring back. Pages do without: a crash takes their rows back
 * together with their progress, and an owner that remembers more finds out before it writes again (fenced.ts,
 * scope-row.ts).
 */
export async function commitDurably(trx: Db): Promise<void> {
  await trx.sql`
    select set_config('synchronous_commit', 'on', true)
    where current_setting('synchronous_commit') = 'off'`;
}
