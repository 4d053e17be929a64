import type { HintUpdate, StoredHint } from '../../db/events/hint-store.ts';

/** A hinted row as the mirror has it. */
export interface RowState {
  readonly changeId: string;
  readonly changedAt: Date;
  readonly live: boolean;
}

/** What a reading of hinted rows found. */
export interface ReadingFacts {
  /** By the database's clock, after it. */
  readonly now: Date;
  /** Rows by key when the hints were taken, and now; left out where the mirror has none. */
  readonly before: ReadonlyMap<string, RowState>;
  readonly after: ReadonlyMap<string, RowState>;
  /** When any row of the scope changed last; given where a hint names the scope as a whole. */
  readonly scopeChangedAt: Date | undefined;
}

/** A change that a poll mirrored at most so long (ms) before its event: the event says nothing new. */
const FOUND_BEFORE_MS = 60_000;
/** When (ms after the event) a row that looks unchanged is read again: replicas lag, and events may come early. */
const AGAIN_MS = [5_000, 30_000] as const;
/** Least time (ms) between two readings for the same event. */
const APART_MS = 5_000;

/**
 * What becomes of hints whose rows were read. Where the row has changed, the hint is done. Else it is due again,
 * twice; after that the event is taken for one that changed nothing, unless a poll or a full walk finds otherwise.
 */
export function judgeHints(hints: readonly StoredHint[], facts: ReadingFacts): HintUpdate {
  const done: StoredHint[] = [];
  const again: { hint: StoredHint; dueAt: Date }[] = [];
  for (const hint of hints) {
    const dueAt = hasChanged(hint, facts) ? undefined : nextReading(hint, facts.now);
    if (dueAt === undefined) done.push(hint);
    else again.push({ hint, dueAt });
  }
  return { done, again };
}

function hasChanged({ key, hintedAt }: StoredHint, { before, after, scopeChangedAt }: ReadingFacts): boolean {
  if (key !== '' && before.get(key)?.changeId !== after.get(key)?.changeId) return true;
  const changedAt = key === '' ? scopeChangedAt : after.get(key)?.changedAt;
  return changedAt !== undefined && changedAt.getTime() >= hintedAt.getTime() - FOUND_BEFORE_MS;
}

function nextReading({ hintedAt, step }: StoredHint, now: Date): Date | undefined {
  const afterEvent = AGAIN_MS[step];
  if (afterEvent === undefined) return undefined;
  // The moments may be of two clocks, so the wait from now is bounded both ways.
  const inMs = hintedAt.getTime() + afterEvent - now.getTime();
  return new Date(now.getTime() + Math.min(Math.max(inMs, APART_MS), Math.max(afterEvent, APART_MS)));
}
