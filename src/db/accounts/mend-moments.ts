import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import type { Fence } from '../../model/fence.ts';
import { CLAIMED, setMomentsAhead, WAITED_FOR } from '../ownership/clock-step.ts';
import { fenced } from '../ownership/fenced.ts';

/** How far (ms) the moment of something that has happened may lie ahead of the database's clock. */
const MARGIN_MS = 15_000;

/**
 * Sets moments that lie ahead of the database's clock to now, and forgets claims: the clock went back while nobody
 * owned the account, so nobody knows by how much. (An owner knows, and moves them: clock-step.ts.) To be called when
 * an account is opened.
 */
export async function mendMoments(db: Db, fence: Fence): Promise<void> {
  const { userId } = fence;
  await fenced(db, fence, async (trx, now) => {
    const ahead = new Date(now.getTime() + MARGIN_MS);
    await setMomentsAhead(trx, userId, WAITED_FOR, ahead, () => sql`${now}::timestamptz`);
    await setMomentsAhead(trx, userId, CLAIMED, ahead, () => sql`null`);
    // Nobody knows when their requests were sent: all of them may count for a window from now on.
    await trx.sql`
      update ${trx.stateTable('slot_block')} as t set valid_until = ${now}::timestamptz, freed = '{}'
      where t._user_id = ${userId}::bigint and t.valid_until > ${ahead}::timestamptz`;
    // An unfinished walk counts as of its beginning.
    await trx.sql`
      update ${trx.stateTable('scope')} as t set full_walk = null
      where t._user_id = ${userId}::bigint and (t.full_walk ->> 'began')::float8 > ${ahead.getTime()}::float8`;
  });
}
