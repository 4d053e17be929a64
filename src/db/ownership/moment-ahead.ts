import { type RawBuilder, sql } from 'kysely';

/**
 * How far (ms) moments that are stored in advance may lie ahead of the database's clock: what each use adds at most,
 * and a margin. One that lies further ahead was stored before that clock went back. It is taken as past, so that nothing
 * waits for the future.
 */
export const AHEAD_MS = {
  /** A heartbeat is valid for 12 s (heartbeat.ts). */
  aliveUntil: 15_000,
  /** `Retry-After` counts up to 15 minutes. */
  submission: 960_000,
  /** A row that still looks unchanged is read again within 30 s. */
  hint: 600_000,
} as const;

/** Whether a stored moment has come, as far as it may lie ahead at all. */
export function hasCome(
  moment: RawBuilder<unknown>,
  aheadMs: number,
  now: RawBuilder<unknown> = sql`clock_timestamp()`,
): RawBuilder<boolean> {
  return sql<boolean>`(${moment} <= ${now} or ${moment} > ${now} + ${`${aheadMs} ms`}::interval)`;
}
