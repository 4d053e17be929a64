import { formatSpan } from '@research-mirror/runtime/figures';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from './db.ts';

/** Message: the database's clock stepped. */
export function wordsOfStep(byMs: number): string {
  const span = formatSpan(Math.abs(byMs));
  return byMs < 0
    ? `the database’s clock went back by ${span}`
    : `the database’s clock went ahead by ${span} (it was set, or this machine slept)`;
}

type Moments = readonly (readonly [schema: 'state' | 'mirror', table: string, columns: readonly string[]])[];

/** Times of events from which a wait counts. After the clock went back they are in the future. */
export const WAITED_FOR: Moments = [
  ['state', 'scope', ['last_read_at', 'full_at', 'due_at', 'last_due_at']],
  ['state', 'candidate', ['at']],
  ['state', 'unsettled', ['since']],
  ['state', 'registration', ['checked_at', 'registering_at', 'registered_at', 'verified_at']],
  ['mirror', 'quarantine', ['last_seen_at']],
  ['mirror', '_collections', ['reading_at', 'failing_since']],
  ['mirror', 'submissions', ['_send_before']],
];

/** Times as of which rows are mirrored. */
export const CLAIMED: Moments = [
  ['state', 'scope', ['polled_at', 'complete_as_of']],
  ['mirror', '_collections', ['polled_at', 'complete_as_of']],
];

/** Sets the account's times that are later than `ahead`. Call in a fenced transaction. */
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
 * Moves an account's times with the database's clock, in the fenced transaction that notices the step, so that waits
 * keep their length. If the clock went ahead, `CLAIMED` stays: the machine may have slept.
 */
export async function moveWithClock(trx: Db, userId: string, now: Date, byMs: number): Promise<void> {
  const by = sql`${`${byMs} ms`}::interval`;
  if (byMs < 0) {
    await setMomentsAhead(trx, userId, [...WAITED_FOR, ...CLAIMED], now, (at) => sql`${at} + ${by}`);
  } else {
    await trx.sql`
      update ${trx.stateTable('candidate')} as t set at = t.at + ${by} where t._user_id = ${userId}::bigint`;
  }
  const slotsSince = new Date(now.getTime() - byMs - BLOCK_MEMORY_MS);
  await trx.sql`
    update ${trx.stateTable('slot_block')} as t set valid_until = t.valid_until + ${by},
      freed = array(select f + ${by} from unnest(t.freed) as f)
    where t._user_id = ${userId}::bigint and t.valid_until > ${slotsSince}::timestamptz`;
  // Ends of whole walks, which prove absences with the next walk, and starts of unfinished walks.
  await trx.sql`
    update ${trx.stateTable('scope')} as t set memory = t.memory - 'whole',
      full_walk = case when (t.full_walk ->> 'began')::float8 <= ${now.getTime()}::float8 then t.full_walk end
    where t._user_id = ${userId}::bigint and (t.memory ? 'whole' or t.full_walk is not null)`;
}

/**
 * How far a stored time may be ahead of the database's clock, ms: the longest offset of its use and a margin. A later
 * time was stored before the clock went back. It counts as past, or something would wait too long.
 */
export const AHEAD_MS = {
  /** A heartbeat is valid for 12 s (heartbeat.ts). */
  aliveUntil: 15_000,
  /** `Retry-After` counts for up to 15 minutes. */
  submission: 960_000,
  /** A row that still looks unchanged is read again within 30 s. */
  hint: 600_000,
} as const;

/** How far the time of a past event may be ahead, ms: clocks of nodes differ a little. */
export const HAPPENED_AHEAD_MS = 15_000;

/** Age of `valid_until` after which no slot of a row of slot_block is in use, ms. */
export const BLOCK_MEMORY_MS = 300_000;

/** SQL expression: the time of an event; 1970 for one in the future, which was stored before the clock went back. */
export function unlessAhead(moment: RawBuilder<unknown>): RawBuilder<Date> {
  return sql<Date>`case when ${moment} <= statement_timestamp() + ${`${HAPPENED_AHEAD_MS} ms`}::interval
    then ${moment} else 'epoch'::timestamptz end`;
}

/** SQL condition: the stored time has passed or is too far ahead. */
export function hasCome(
  moment: RawBuilder<unknown>,
  aheadMs: number,
  now: RawBuilder<unknown> = sql`clock_timestamp()`,
): RawBuilder<boolean> {
  return sql<boolean>`(${moment} <= ${now} or ${moment} > ${now} + ${`${aheadMs} ms`}::interval)`;
}
