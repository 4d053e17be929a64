import type { KeyType } from '../../model/collections.ts';
import { compareKeys } from '../../model/key.ts';
import { usableDirection } from '../../walk/memory/memory.ts';
import { both, pollScope, readNew, rereadRows, type ScopeReading } from '../walk-run/read-scope.ts';
import type { ReadOutcome } from './read-outcome.ts';
import type { WalkResult } from '../walk-run/walk-result.ts';

/** The rows of a scope that events named. */
export interface Hinted {
  /** An event named the scope as a whole, not the rows that changed. */
  readonly whole: boolean;
  readonly keys: readonly string[];
  /** The keys that the mirror has as live rows. The others may be new, and polls find new rows. */
  readonly known: ReadonlySet<string>;
}

export interface HintedRead {
  readonly result: WalkResult;
  /** Whether the reading says what became of the row, there or not; '' for the scope as a whole. */
  readonly covers: (key: string) => boolean;
}

/** `requests` bounds the reading of known rows; a list is read whole. */
export interface HintedRequest extends Pick<ScopeReading, 'priority' | 'requests' | 'signal'> {
  readonly parent: string;
  readonly hinted: Hinted;
}

export interface HintedOutcome extends Pick<HintedRead, 'covers'> {
  readonly outcome: ReadOutcome;
  /** Only a walk over all rows can cover the rest. */
  readonly walkNeeded: boolean;
}

/**
 * The cheapest reading of a scope that covers the hinted rows. Where all are known: the fewest pages with them. Else
 * a poll, and then the rows that it did not pass. The order of the list may be other than it seems: that costs delay
 * only.
 * @param reading its `requests` bounds the reading of known rows; the next reading reads the rest
 * @param pollTurn runs the poll: one of a collection at a time
 * @returns `full-needed` where the order is not known and the top of the list does not show all rows
 */
export async function readHinted(
  reading: ScopeReading,
  { whole, keys, known }: Hinted,
  pollTurn: <T>(task: () => Promise<T>) => Promise<T>,
): Promise<HintedRead> {
  const { session } = reading;
  const isOrdered = (): boolean => usableDirection(session.memory) !== null;
  // A poll ends where the new rows end. With a bound it might stop in the overlap, again and again.
  const unbounded = withoutBound(reading);
  const poll = (): Promise<WalkResult> => pollTurn(() => (whole ? pollScope(unbounded) : readNew(unbounded)));

  if (!whole && isOrdered() && keys.every((key) => known.has(key))) {
    const read = await reread(reading, keys);
    const { seen } = read.result;
    if (!keys.some((key) => read.covers(key) && !seen.has(key))) return read;
    // A row that is not in its place is gone, or the list has another order than it seemed: a poll may show it.
    const polled = await poll();
    const isTrusted = polled.outcome === 'reached' && isOrdered();
    const covers = (key: string): boolean =>
      polled.outcome === 'complete' ||
      polled.seen.has(key) ||
      seen.has(key) ||
      (isTrusted && read.covers(key));
    return { result: both(read.result, polled), covers };
  }

  const polled = await poll();
  const { outcome, seen } = polled;
  if (outcome === 'complete') return { result: polled, covers: () => true };
  const reached = outcome === 'reached';
  const { keyType } = session.memory;
  const coveredByPoll = (key: string): boolean =>
    key === '' ? reached : seen.has(key) || (reached && isNewest(keyType, key, seen));
  // An interrupted poll may still bring new rows: only known ones are looked for elsewhere.
  const left = keys.filter((key) => !coveredByPoll(key) && (reached || known.has(key)));
  const goesOn = (reached || outcome === 'interrupted') && isOrdered();
  if (!goesOn || left.length === 0) return { result: polled, covers: coveredByPoll };
  const more = await reread(reading, left);
  return { result: both(polled, more.result), covers: (key) => coveredByPoll(key) || more.covers(key) };
}

/** Reads rows again where they should stand. It covers rows that are not there, too. */
async function reread(reading: ScopeReading, keys: readonly string[]): Promise<HintedRead> {
  // With the service's own cursors each walk begins at the top: with a bound it would never get far.
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

/** A poll reads the newest rows, whichever way the list runs: a key among them that it did not see is gone. */
function isNewest(keyType: KeyType, key: string, seen: ReadonlySet<string>): boolean {
  for (const each of seen) if (compareKeys(keyType, each, key) < 0) return true;
  return seen.size === 0;
}
