import { type RawBuilder, sql } from 'kysely';

/**
 * How far (ms) a moment that is stored in advance may lie ahead of the database's clock: what its use adds at most,
 * and a margin. One that lies further ahead was stored before that clock went back; it counts as past, or it would be
 * waited for too long.
 */
export const AHEAD_MS = {
  /** A heartbeat is valid for 12 s (heartbeat.ts). */
  aliveUntil: 15_000,
  /** `Retry-After` counts for up to 15 minutes. */
  submission: 960_000,
  /** A row that still looks unchanged is read again within 30 s. */
  hint: 600_000,
} as const;

/** How far (ms) the moment of what has happened may lie ahead: clocks of nodes differ a little. */
export const HAPPENED_AHEAD_MS = 15_000;

/** An SQL expression: when something happened; long ago where that lies ahead, since the clock went back. */
export function unlessAhead(moment: RawBuilder<unknown>): RawBuilder<Date> {
  return sql<Date>`case when ${moment} <= statement_timestamp() + ${`${HAPPENED_AHEAD_MS} ms`}::interval
    then ${moment} else 'epoch'::timestamptz end`;
}

/** An SQL condition: the stored moment has come, or lies too far ahead. */
export function hasCome(
  moment: RawBuilder<unknown>,
  aheadMs: number,
  now: RawBuilder<unknown> = sql`clock_timestamp()`,
): RawBuilder<boolean> {
  return sql<boolean>`(${moment} <= ${now} or ${moment} > ${now} + ${`${aheadMs} ms`}::interval)`;
}
