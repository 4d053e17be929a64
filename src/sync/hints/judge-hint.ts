import type { StoredHint } from '../../db/events/hint-store.ts';

/** A change that a poll mirrored at most so long (ms) before its event: the event says nothing new. */
const FOUND_BEFORE_MS = 60_000;
/** When (ms after the event) a row that looks unchanged is read again: replicas lag, and events may come early. */
const AGAIN_MS = [5_000, 30_000] as const;
/** Least time (ms) between two readings for the same event. */
const APART_MS = 5_000;

/**
 * What becomes of a hint whose row was read. Where the row has changed, the hint is done. Else it is due again, twice;
 * after that the event is taken for one that changed nothing, unless a poll or a full walk finds otherwise.
 * @param changedAt when the row, or any row of the scope as a whole, changed last; undefined: the mirror has none
 * @param now by the database's clock, after the reading
 * @returns when it is due again; null: it is done
 */
export function judgeHint(
  { hintedAt, step }: StoredHint,
  changedAt: Date | undefined,
  now: Date,
): Date | null {
  if (changedAt !== undefined && changedAt.getTime() >= hintedAt.getTime() - FOUND_BEFORE_MS) return null;
  const afterEvent = AGAIN_MS[step];
  if (afterEvent === undefined) return null;
  // The database's clock may have been set meanwhile, so the wait from now is bounded both ways.
  const inMs = hintedAt.getTime() + afterEvent - now.getTime();
  return new Date(now.getTime() + Math.min(Math.max(inMs, APART_MS), afterEvent));
}
