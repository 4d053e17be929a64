import { formatSpan } from '@research-mirror/runtime/figures';
import type { Db } from '../connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { BLOCK_MEMORY_MS } from '../../budget/reservations.ts';

/** What a step of the database's clock (ms) is called. */
export function wordsOfStep(byMs: number): string {
  const span = formatSpan(Math.abs(byMs));
  return byMs < 0
    ? `the database’s clock went back by ${span}`
    : `the database’s clock went ahead by ${span} (it was set, or this machine slept)`;
}

type Moments = readonly (readonly [schema: 'state' | 'mirror', table: string, columns: readonly string[]])[];

/**
 * Moments at which something happened, for which something waits. Where the database's clock went back, they lie ahead,
 * and everything would wait until it has caught up.
 */
export const WAITED_FOR: Moments = [
  ['state', 'scope', ['last_read_at', 'full_at', 'due_at', 'last_due_at']],
  ['state', 'candidate', ['at']],
  ['state', 'unsettled', ['since']],
  ['state', 'registration', ['checked_at', 'registering_at', 'registered_at', 'verified_at']],
  ['mirror', 'quarantine', ['last_seen_at']],
  ['mirror', '_collections', ['reading_at', 'failing_since']],
  ['mirror', 'submissions', ['_send_before']],
];

/** Moments as of which something is mirrored. */
export const CLAIMED: Moments = [
  ['state', 'scope', ['polled_at', 'complete_as_of']],
  ['mirror', '_collections', ['polled_at', 'complete_as_of']],
];

/** Sets those of an account's moments that lie ahead of `ahead`, in a fenced transaction. */
export async function setMomentsAhead(
  trx: Db,
  userId: string,
  moments: Moments,
  ahead: Date,
  value: (moment: RawBuilder<unknown>) => RawBuilder<unknown>,
): Promise<void> {
  for (const [schema, table, columns] of moments) {
    const found = columns.map((name) => ({ name: sql.id(name), at: sql.id('t', name) }));
    const isAhead = found.map(({ at }) => sql`${at} > ${ahead}::timestamptz`);
    const set = found.map(
      ({ name, at }, index) => sql`${name} = case when ${isAhead[index]} then ${value(at)} else ${at} end`,
    );
    await trx.sql`
      update ${schema === 'state' ? trx.stateTable(table) : trx.table(table)} as t set ${sql.join(set)}
      where t._user_id = ${userId}::bigint and (${sql.join(isAhead, sql` or `)})`;
  }
}

/**
 * Moves an account's moments with the database's clock, in the fenced transaction that notices its step. Waits go on
 * as they were: the grace period between two proofs, and the rate limit's window. Where the clock went ahead, claims
 * stay: this machine may have slept, and the time is gone.
 */
export async function moveWithClock(trx: Db, userId: string, now: Date, byMs: number): Promise<void> {
  const by = sql`${`${byMs} ms`}::interval`;
  if (byMs < 0)
    await setMomentsAhead(trx, userId, [...WAITED_FOR, ...CLAIMED], now, (at) => sql`${at} + ${by}`);
  else {
    await trx.sql`
      update ${trx.stateTable('candidate')} as t set at = t.at + ${by} where t._user_id = ${userId}::bigint`;
  }
  const slotsSince = new Date(now.getTime() - byMs - BLOCK_MEMORY_MS);
  await trx.sql`
    update ${trx.stateTable('slot_block')} as t set valid_until = t.valid_until + ${by},
      freed = array(select f + ${by} from unnest(t.freed) as f)
    where t._user_id = ${userId}::bigint and t.valid_until > ${slotsSince}::timestamptz`;
  // The end of a whole walk, which proves together with the next one, and the beginning of an unfinished walk.
  await trx.sql`
    update ${trx.stateTable('scope')} as t set memory = t.memory - 'whole',
      full_walk = case when (t.full_walk ->> 'began')::float8 <= ${now.getTime()}::float8 then t.full_walk end
    where t._user_id = ${userId}::bigint and (t.memory ? 'whole' or t.full_walk is not null)`;
}
