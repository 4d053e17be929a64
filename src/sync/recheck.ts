import { commitDurably, type Db } from '../postgres/db.ts';
import { sql } from 'kysely';
import { RATE_GROUPS } from '../service/rate-groups.ts';
import { GUARD_MS, UNANSWERED_MS, WINDOW_MS } from '../service/slots.ts';
import type { LearntRate } from '../service/slot-store.ts';
import { SUSPECT_COUNTERS } from '../model/collection-columns.ts';
import type { CollectionName } from '../model/collections.ts';
import { type Fence, fenced } from '../postgres/fenced.ts';
import { CLAIMED, HAPPENED_AHEAD_MS, setMomentsAhead, WAITED_FOR } from '../postgres/clock-step.ts';

/**
 * Forgets what was learnt, if the database went back since the account was last opened: a sighting that withdrew a
 * suspicion, a contradiction that withdrew the trust in an order, or used slots of the rate limit may be lost. Full
 * walks are due; until then the rows stay as they are. The keys' budgets count as used: nothing, not even a ping, is
 * sent before earlier requests count no more.
 * @param keyHashes of the keys that the account is opened with
 * @returns whether it was due
 */
export async function recheckIfDue(
  db: Db,
  fence: Fence,
  collections: readonly CollectionName[],
  keyHashes: readonly string[],
): Promise<boolean> {
  const { userId } = fence;
  return fenced(db, fence, async (trx, now) => {
    const { rows } = await trx.sql<{ due: boolean }>`
      select recheck as due from ${trx.stateTable('account')} where _user_id = ${userId}::bigint`;
    if (rows[0]?.due !== true) return false;
    await commitDurably(trx);
    await forgetConclusions(trx, userId);
    await trx.state.deleteFrom('slot_block').where('_user_id', '=', userId).execute();
    const paused: LearntRate = { pausedUntil: now.getTime() + UNANSWERED_MS + WINDOW_MS + GUARD_MS };
    await trx.sql`
      insert into ${trx.stateTable('rate_group')} as r (_user_id, key_hash, rate_group, learnt)
      select a._user_id, k.hash, g.name, ${JSON.stringify(paused)}::text::jsonb
      from ${trx.stateTable('account')} as a
      cross join unnest(${[...keyHashes]}::text[]) as k (hash)
      cross join unnest(${[...RATE_GROUPS]}::text[]) as g (name)
      where a._user_id = ${userId}::bigint
      on conflict (_user_id, key_hash, rate_group) do update set learnt = r.learnt || excluded.learnt`;
    // The service's page size stays: without it a list of one row may look unfinished.
    await trx.sql`
      update ${trx.stateTable('scope')} set full_walk = null,
        memory = coalesce(('{"limit":' || (memory #>> '{limit}') || '}')::jsonb, '{}')
      where _user_id = ${userId}::bigint`;
    await trx.sql`
      update ${trx.table('_collections')} set next_full_at = ${now}::timestamptz
      where _user_id = ${userId}::bigint and collection = any(${[...collections]}::text[])`;
    await trx.state.updateTable('account').set({ recheck: false }).where('_user_id', '=', userId).execute();
    return true;
  });
}

/** Forgets the account's suspected deletions: they may rest on another account's answers. Rows stay as they are. */
export async function forgetConclusions(trx: Db, userId: string): Promise<void> {
  await trx.state.deleteFrom('candidate').where('_user_id', '=', userId).execute();
  const counters = SUSPECT_COUNTERS.map(({ column }) => sql.id(column));
  await trx.sql`
    update ${trx.table('_collections')} set ${sql.join(counters.map((counter) => sql`${counter} = 0`))}
    where _user_id = ${userId}::bigint and ${sql.join(counters, sql` + `)} > 0`;
}

/**
 * Forgets conclusions, how far each list was read, and what is known of its order: a frontier or a cursor of another
 * account would lead past rows of this one. Full walks are due.
 * @param now the database's time
 */
export async function forgetReadings(trx: Db, userId: string, now: Date): Promise<void> {
  await forgetConclusions(trx, userId);
  await trx.sql`
    update ${trx.stateTable('scope')} set memory = '{}', full_walk = null
    where _user_id = ${userId}::bigint`;
  const dueNow = trx.mirror.updateTable('_collections').set({ next_full_at: now });
  await dueNow.where('_user_id', '=', userId).execute();
}

/**
 * Sets times that lie ahead of the database's clock to now, and forgets claims. Called when an account is opened: the
 * clock went back while the account had no owner, so it is not known by how much. (An owner knows, and moves them:
 * clock-step.ts.)
 */
export async function mendMoments(db: Db, fence: Fence): Promise<void> {
  const { userId } = fence;
  await fenced(db, fence, async (trx, now) => {
    const ahead = new Date(now.getTime() + HAPPENED_AHEAD_MS);
    await setMomentsAhead(trx, userId, WAITED_FOR, ahead, () => sql`${now}::timestamptz`);
    await setMomentsAhead(trx, userId, CLAIMED, ahead, () => sql`null`);
    // It is not known when their requests were sent: all of them may count for a window from now on.
    await trx.sql`
      update ${trx.stateTable('slot_block')} as t set valid_until = ${now}::timestamptz, freed = '{}'
      where t._user_id = ${userId}::bigint and t.valid_until > ${ahead}::timestamptz`;
    // An unfinished walk counts as of its beginning.
    await trx.sql`
      update ${trx.stateTable('scope')} as t set full_walk = null
      where t._user_id = ${userId}::bigint and (t.full_walk ->> 'began')::float8 > ${ahead.getTime()}::float8`;
  });
}
