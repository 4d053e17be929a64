import type { CollectionName, KeyType } from '../model/collections.ts';
import { compareKeys } from '../model/key.ts';
import { usableDirection } from '../walk/memory.ts';
import { both, pollScope, readNew, rereadRows } from './read-scope.ts';
import { type ReadOutcome, readOutcomeOf, type ScopeReading, type WalkResult } from './walk-result.ts';

/** The rows of a scope that events named. `requests` bounds the reading of known rows; a list is read whole. */
export interface HintedRequest extends Pick<ScopeReading, 'priority' | 'requests' | 'signal'> {
  /** '' names the scope as a whole. */
  readonly keys: readonly string[];
  /** The keys that the mirror has as live rows. The others may be new, and polls find new rows. */
  readonly known: ReadonlySet<string>;
}

export interface HintedOutcome {
  readonly outcome: ReadOutcome;
  /** Whether the reading shows if the row exists; '' for the scope as a whole. */
  readonly covers: (key: string) => boolean;
  /** Only a walk over all rows can cover the rest. */
  readonly walkNeeded: boolean;
}

/**
 * The cheapest reading of a scope that covers the hinted rows: the fewest pages with them if all are known, otherwise
 * a poll, and then the rows that it did not pass. A wrong guess of the list's order costs delay only.
 * @param reading its `requests` bounds the reading of known rows; the next reading reads the rest
 * @param pollTurn runs the poll: one at a time per collection
 * @throws KeyRefused: the account can't go on
 */
export async function readHinted(
  name: CollectionName,
  reading: ScopeReading,
  { keys, known }: Pick<HintedRequest, 'keys' | 'known'>,
  pollTurn: <T>(task: () => Promise<T>) => Promise<T>,
): Promise<HintedOutcome> {
  const { session } = reading;
  const isOrdered = (): boolean => usableDirection(session.memory) !== null;
  const outcomeOf = (result: WalkResult, covers: HintedOutcome['covers']): HintedOutcome => ({
    outcome: readOutcomeOf(name, result),
    covers,
    walkNeeded: result.outcome === 'full-needed',
  });
  const whole = keys.includes('');
  const first = !whole && isOrdered() && keys.every((key) => known.has(key)) ? await reread(reading, keys) : undefined;
  // A row that is not in its place is gone, or the list has another order: a poll may show it.
  if (first !== undefined && !keys.some((key) => first.covers(key) && !first.result.seen.has(key)))
    return outcomeOf(first.result, first.covers);

  // A poll ends where the new rows end. With a bound it might stop in the overlap again and again.
  const unbounded = withoutBound(reading);
  const polled = await pollTurn(() => (whole ? pollScope(unbounded) : readNew(unbounded)));
  const result = first === undefined ? polled : both(first.result, polled);
  const reached = polled.outcome === 'reached';
  const isTrusted = reached && isOrdered();
  const { keyType } = session.memory;
  const covers = (key: string): boolean =>
    polled.outcome === 'complete' ||
    result.seen.has(key) ||
    (reached && (key === '' || isNewest(keyType, key, polled.seen))) ||
    (isTrusted && first?.covers(key) === true);
  // An interrupted poll may still bring new rows: only known ones are looked for elsewhere.
  const left = keys.filter((key) => key !== '' && !covers(key) && (reached || known.has(key)));
  const goesOn = first === undefined && (reached || polled.outcome === 'interrupted') && isOrdered();
  if (!goesOn || left.length === 0) return outcomeOf(result, covers);
  const more = await reread(reading, left);
  return outcomeOf(both(polled, more.result), (key) => covers(key) || more.covers(key));
}

/** Reads rows again where they should be; covers missing ones, too. */
async function reread(reading: ScopeReading, keys: readonly string[]) {
  // With the service's own cursors each walk begins at the top: with a bound it would never get far.
  const fromTop = reading.session.memory.cursors === 'offered-only';
  const result = await rereadRows(fromTop ? withoutBound(reading) : reading, keys);
  const { outcome, walk, seen } = result;
  const todo = new Set(walk.kind === 'refresh' ? walk.todo : []);
  const requested = new Set(keys);
  const went = outcome === 'reached' || outcome === 'complete' || outcome === 'interrupted';
  const covers = (key: string): boolean => requested.has(key) && (seen.has(key) || (went && !todo.has(key)));
  return { result, covers };
}

function withoutBound(reading: ScopeReading): ScopeReading {
  return { ...reading, requests: Number.POSITIVE_INFINITY };
}

/** A poll reads the newest rows in either direction: a key among them that it did not see is gone. */
function isNewest(keyType: KeyType, key: string, seen: ReadonlySet<string>): boolean {
  for (const each of seen) if (compareKeys(keyType, each, key) < 0) return true;
  return seen.size === 0;
}
