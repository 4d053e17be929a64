import type { HintUpdate, StoredHint } from '../../db/events/hint-store.ts';

/** A hinted row as the mirror has it. */
export interface RowState {
  readonly changeId: string;
  readonly changedAt: Date;
  readonly live: boolean;
}

/** What a reading that tells of hinted rows found. */
export interface ReadingFacts {
  /** By the database's clock, after it. */
  readonly now: Date;
  /** Rows by key, when the hints were taken and now; left out: the mirror has none. */
  readonly before: ReadonlyMap<string, RowState>;
  readonly after: ReadonlyMap<string, RowState>;
  /** When any row of the scope changed last, as far as a hint of the scope as a whole asks for it. */
  readonly scopeChangedAt: Date | undefined;
}

/** A change that came so long (ms) before its event was mirrored by a poll: the event says nothing new. */
const FOUND_BEFORE_MS = 60_000;
/** When (ms after the event) a row that looks unchanged is read again: replicas lag, and events may come too early. */
const AGAIN_MS = [5_000, 30_000] as const;
/** Least time (ms) between two readings for the same event. */
const APART_MS = 5_000;

/**
 * What becomes of hints whose rows were read: those whose row has changed go; the others are due again, twice. After
 * that the event is taken for one that changes nothing, and polls and full walks are left to find otherwise.
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
  // Told by two clocks, maybe: whatever they say, it is not sooner, and not later, than that from now.
  const inMs = hintedAt.getTime() + afterEvent - now.getTime();
  return new Date(now.getTime() + Math.min(Math.max(inMs, APART_MS), Math.max(afterEvent, APART_MS)));
}
