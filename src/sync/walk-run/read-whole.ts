import type { Checkpoint } from '../../walk/checkpoint.ts';
import { orderGrade } from '../../walk/memory/memory.ts';
import { hasReadThrough } from '../../walk/kinds/full.ts';
import { both, interruptedWalk, readAll, type ScopeReading } from './read-scope.ts';
import type { ReadWhole, WalkOptions, WalkResult } from './walk-result.ts';

export interface WholeScopeReading extends ScopeReading {
  /** What `freshness` says when only the rest of an interrupted walk was read. */
  readonly onRest?: ScopeReading['onRead'];
}

/**
 * Reads all pages as of the call. An interrupted full walk is resumed at its stored cursor, so that the list's end is
 * reached whatever kills walks in the middle. Then the pages before that cursor are read again, from the top: rows
 * there may be gone since.
 */
export async function readWhole(reading: WholeScopeReading): Promise<WalkResult> {
  const { session, context, onRest, ...options } = reading;
  const began = context.clock.now();
  const interrupted = interruptedWalk(session, began);
  if (interrupted === undefined) return readAll(reading);
  const since = context.keys.open();
  session.since = since;
  try {
    const rest = await readAll({
      context,
      session,
      ...options,
      ...(onRest === undefined ? {} : { onRead: onRest }),
    });
    // A list that is gone has nothing to read again.
    if (rest.outcome !== 'complete' || rest.status !== undefined) return rest;
    return await readAgain(reading, interrupted, rest, began);
  } finally {
    session.since = undefined;
    since.close();
  }
}

/**
 * Reads from the top what an interrupted walk had read. It ends there if no row can be missing unnoticed; else it
 * goes on to the list's end, as a whole walk of its own.
 * @param began when the rest of that walk began to be read (ms): both count as of then
 */
async function readAgain(
  reading: WholeScopeReading,
  { recent }: Checkpoint,
  rest: WalkResult,
  began: number,
): Promise<WalkResult> {
  const { session, context } = reading;
  const through = recent.at(-1);
  const enough: Required<WalkOptions>['enough'] = async (walk, memory) => {
    const { since } = session;
    if (since === undefined || through === undefined || !hasReadThrough(walk, memory, through)) return false;
    // Asked once: it reads all live keys.
    session.since = undefined;
    const missing = await context.store.liveKeysMissing(session.scope, (key) => since.has(key));
    // If rows are missing, or pages may suspect some, it goes on to the end: else a row that moved there meanwhile
    // would pass for gone, in an order that only looks trustworthy (test/model: `sink`).
    return (
      missing.length === 0 && !since.lost && rest.walk.restarts === 0 && orderGrade(memory) !== 'trusted'
    );
  };
  const again = await readAll(reading, { asOf: began, enough });
  const read = both(rest, again);
  if (again.outcome !== 'reached' || again.whole === undefined) return read;
  const whole: ReadWhole = { ...again.whole, conclusive: true };
  return { ...read, outcome: 'complete', whole };
}
