import { compareKeys } from '../model/key.ts';
import { afterComplete } from './full.ts';
import { advance, overlapLow } from './frontier.ts';
import { usableDirection, type ScopeMemory } from './memory.ts';
import type { WalkedPage } from './take-page.ts';
import { endWith, fromTop, giveUp, goOn, stepBack } from './checkpoint.ts';
import { newReading, readAsOf } from './reading.ts';
import type { PollWalk, Step } from './walk.ts';

/**
 * Begins a poll: the rest of an interrupted one first, then the new rows.
 * @param overlapKey key of the 200th known live row from the newest (greatest) one; null if there are fewer
 */
export function beginPoll(
  memory: ScopeMemory,
  { overlapKey, now }: Readonly<{ overlapKey: string | null; now: number }>,
): Step<PollWalk> {
  const walk = { ...newReading(now), kind: 'poll' as const, overlapKey, low: null };
  const direction = usableDirection(memory);
  const { frontier, open } = memory;
  if (direction === null || frontier === null) return goOn({ ...walk, part: 'look' }, memory);
  // A key can't be a cursor, so the walk reads from the top.
  const top = memory.cursors === 'offered-only';
  if (direction === 'rising') {
    if (top) return goOn({ ...walk, part: 'tail' }, memory);
    // Continues the interrupted poll. The next poll reads the overlap.
    if (open !== null) {
      return goOn({ ...walk, part: 'tail', cursor: open.after, began: open.asOf }, memory);
    }
    const low = overlapLow(memory.keyType, frontier, overlapKey);
    return goOn({ ...walk, part: 'tail', cursor: low, seek: low === null ? 0 : 1, low }, memory);
  }
  if (open !== null && open.first !== null) {
    const { first, at, asOf, after, low } = open;
    if (top) {
      const overlap = overlapLow(memory.keyType, frontier, overlapKey);
      return goOn({ ...walk, part: 'top', low: lower(memory, low, overlap) }, memory);
    }
    return goOn({ ...walk, part: 'open', cursor: after, first, firstAt: at, began: asOf, low }, memory);
  }
  const low = overlapLow(memory.keyType, frontier, overlapKey);
  return goOn({ ...walk, part: 'top', low }, memory);
}

/** The next step after an answer. @param asked the walk at the time of the request */
export function stepPoll(asked: PollWalk, taken: WalkedPage<PollWalk>, now: number): Step<PollWalk> {
  const { reading: walk, memory, verdict } = taken;
  if (taken.snapshot) {
    const clean = !taken.contradiction;
    const whole = afterComplete(memory, walk, { snapshot: true, clean, now });
    return endWith(walk, whole, 'complete');
  }
  const direction = usableDirection(memory);
  const needed = walk.part === 'tail' ? 'rising' : 'falling';
  if (walk.part === 'look' ? verdict !== 'stuck' : direction !== needed) {
    const reason = walk.part === 'look' ? 'the order of the list is not known' : 'the list contradicted its order';
    return { walk, memory, ask: { type: 'end', outcome: 'full-needed', reason } };
  }
  if (verdict === 'stuck') {
    const back = stepBack(asked, memory, taken.refused);
    return back === null ? pollFromTop(asked, memory, taken.why) : goOn({ ...walk, ...back }, memory);
  }
  return walk.part === 'tail' ? stepTail(walk, memory, verdict, now) : stepDown(walk, memory, verdict, now);
}

/** The ladder is exhausted: restarts from the top and reads the rest as one part. */
export function pollFromTop(asked: PollWalk, memory: ScopeMemory, why: string): Step<PollWalk> {
  const again = fromTop(asked);
  if (again === null) return giveUp(asked, memory, why);
  if (again.part === 'tail') return goOn({ ...again, low: null }, memory);
  if (again.part !== 'open') return goOn(again, memory);
  const low = memory.frontier === null ? null : overlapLow(memory.keyType, memory.frontier, again.overlapKey);
  return goOn({ ...again, part: 'top', low: lower(memory, low, again.low) }, memory);
}

/** Falling: down to `low`. */
function stepDown(walk: PollWalk, memory: ScopeMemory, verdict: 'on' | 'end', now: number): Step<PollWalk> {
  const { first, firstAt: at, low } = walk;
  const asOf = readAsOf(walk);
  const after = walk.recent.at(-1);
  const done =
    verdict === 'end' || (low !== null && after !== undefined && compareKeys(memory.keyType, after, low) <= 0);
  if (!done) {
    const open = after === undefined ? memory.open : { first, at, asOf, after, low };
    return goOn(walk, { ...memory, open });
  }
  const frontier =
    first === null ? memory.frontier : advance(memory.keyType, memory.frontier, { key: first, at, asOf });
  const reached = { ...memory, open: null, frontier };
  if (walk.part === 'open' && frontier !== null) {
    const { overlapKey, restarts, pages, items, agedMs } = walk;
    const next = beginPoll(reached, { overlapKey, now });
    return { ...next, walk: { ...next.walk, restarts, pages, items, agedMs } };
  }
  return endWith(walk, reached, 'reached');
}

/** Rising: to the end. */
function stepTail(walk: PollWalk, memory: ScopeMemory, verdict: 'on' | 'end', now: number): Step<PollWalk> {
  const last = walk.recent.at(-1);
  const { firstAt: at } = walk;
  const asOf = readAsOf(walk);
  if (verdict === 'on') {
    const open = last === undefined ? memory.open : { first: null, at, asOf, after: last, low: null };
    return goOn(walk, { ...memory, open });
  }
  const key = last ?? memory.frontier?.key;
  const frontier = key === undefined ? null : advance(memory.keyType, memory.frontier, { key, at: now, asOf });
  return endWith(walk, { ...memory, open: null, frontier }, 'reached');
}

/** The lesser of two keys at which a part may stop; null, the list's end, is least. */
function lower(memory: ScopeMemory, a: string | null, b: string | null): string | null {
  if (a === null || b === null) return null;
  return compareKeys(memory.keyType, a, b) < 0 ? a : b;
}
