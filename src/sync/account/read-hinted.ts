import type { KeyType } from '../../model/collections.ts';
import { compareKeys } from '../../model/key.ts';
import { usableDirection } from '../../walk/memory/memory.ts';
import { both, pollScope, readNew, rereadRows, type ScopeReading } from '../walk-run/read-scope.ts';
import type { ReadOutcome } from './read-outcome.ts';
import type { WalkResult } from '../walk-run/walk-result.ts';

/** What of a scope is to be read, for events named it. */
export interface Hinted {
  /** The scope as a whole: what changed is not said. */
  readonly whole: boolean;
  readonly keys: readonly string[];
  /** Those of the keys that the mirror has as live rows. The others may be new, and polls find what is new. */
  readonly known: ReadonlySet<string>;
}

export interface HintedRead {
  readonly result: WalkResult;
  /** Whether the reading tells of the row, there or not; '' for the scope as a whole. */
  readonly covers: (key: string) => boolean;
}

/** What is asked of an account's reader; `requests` bounds the reading of known rows, a list is read whole. */
export interface HintedRequest extends Pick<ScopeReading, 'priority' | 'requests' | 'signal'> {
  readonly parent: string;
  readonly hinted: Hinted;
}

export interface HintedOutcome extends Pick<HintedRead, 'covers'> {
  readonly outcome: ReadOutcome;
  /** What it does not tell of, nothing but a walk over all rows can. */
  readonly walkNeeded: boolean;
}

/**
 * The cheapest reading of a scope that covers the hinted rows: known ones alone by the fewest pages; else a poll, and
 * then those that it did not pass. Like all that goes by a usable order it may be mistaken, which costs delay.
 * @param reading its bound on requests is that of reading known rows again: of many, the rest is the next reading's
 * @param pollTurn runs the poll: one of a collection at a time
 * @returns `full-needed` where the order is not known and a look at the top did not show them all
 */
export async function readHinted(
  reading: ScopeReading,
  { whole, keys, known }: Hinted,
  pollTurn: <T>(task: () => Promise<T>) => Promise<T>,
): Promise<HintedRead> {
  const { session } = reading;
  const isOrdered = (): boolean => usableDirection(session.memory) !== null;
  // A poll ends with what is new. Broken off in the overlap, again and again, it would never be one that reached it.
  const unbounded = withoutBound(reading);
  const poll = (): Promise<WalkResult> => pollTurn(() => (whole ? pollScope(unbounded) : readNew(unbounded)));

  if (!whole && isOrdered() && keys.every((key) => known.has(key))) {
    const read = await reread(reading, keys);
    const { seen } = read.result;
    if (!keys.some((key) => read.covers(key) && !seen.has(key))) return read;
    // A row that is not in its place is gone, or the list has another order than it seemed: its top may tell.
    const polled = await poll();
    const holds = polled.outcome === 'reached' && isOrdered();
    const covers = (key: string): boolean =>
      polled.outcome === 'complete' || polled.seen.has(key) || seen.has(key) || (holds && read.covers(key));
    return { result: both(read.result, polled), covers };
  }

  const polled = await poll();
  const { outcome, seen } = polled;
  if (outcome === 'complete') return { result: polled, covers: () => true };
  const reached = outcome === 'reached';
  const { keyType } = session.memory;
  const coveredByPoll = (key: string): boolean =>
    key === '' ? reached : seen.has(key) || (reached && isNewest(keyType, key, seen));
  // Where the poll was broken off, new rows may still come: only those that are known are looked for elsewhere.
  const left = keys.filter((key) => !coveredByPoll(key) && (reached || known.has(key)));
  const goesOn = (reached || outcome === 'interrupted') && isOrdered();
  if (!goesOn || left.length === 0) return { result: polled, covers: coveredByPoll };
  const more = await reread(reading, left);
  return { result: both(polled, more.result), covers: (key) => coveredByPoll(key) || more.covers(key) };
}

/** Reads rows again where they should stand. It tells of those that are not there, too. */
async function reread(reading: ScopeReading, keys: readonly string[]): Promise<HintedRead> {
  // With cursors of the service's own each walk begins at the top: broken off, it would never get far.
  const fromTop = reading.session.memory.cursors === 'offered-only';
  const result = await rereadRows(fromTop ? withoutBound(reading) : reading, keys);
  const { outcome, walk, seen } = result;
  const todo = new Set(walk.kind === 'refresh' ? walk.todo : []);
  const asked = new Set(keys);
  const went = outcome === 'reached' || outcome === 'complete' || outcome === 'interrupted';
  return { result, covers: (key) => asked.has(key) && (seen.has(key) || (went && !todo.has(key))) };
}

function withoutBound(reading: ScopeReading): ScopeReading {
  return { ...reading, requests: Number.POSITIVE_INFINITY };
}

/** A poll reads the newest rows, whichever way the list runs: what lies among them and was not seen is not there. */
function isNewest(keyType: KeyType, key: string, seen: ReadonlySet<string>): boolean {
  for (const each of seen) if (compareKeys(keyType, each, key) < 0) return true;
  return seen.size === 0;
}
