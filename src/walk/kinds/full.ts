import { afterComplete } from './complete.ts';
import { advance } from '../memory/frontier.ts';
import { usableDirection, type ScopeMemory } from '../memory/memory.ts';
import type { WalkedPage } from '../take-page.ts';
import { askFor, failed, fromTop, stepBack } from '../ladder.ts';
import { newReading, position, readAsOf } from '../reading.ts';
import type { FullWalk, Step } from '../walk.ts';

export interface FullStart {
  /** Live rows that the mirror has of the scope: what tells a long list from one that repeats itself. */
  readonly liveRows: number;
  readonly now: number;
}

/** Begins a walk over all pages. */
export function beginFull(memory: ScopeMemory, { liveRows, now }: FullStart): Step<FullWalk> {
  return on({ ...newReading(now), kind: 'full', resumed: false, liveRows }, memory);
}

/** The memory with which a full walk's first page is judged: contradictions and rows count from here. */
export function withFullBegun(walk: FullWalk, memory: ScopeMemory): ScopeMemory {
  if (walk.pages > 0) return memory;
  return { ...memory, evidence: { ...memory.evidence, contradicted: false }, rows: walk.liveRows };
}

/** Goes on after an answer. @param asked the walk as it was when it asked */
export function stepFull(asked: FullWalk, taken: WalkedPage<FullWalk>, now: number): Step<FullWalk> {
  const { reading: walk, memory, verdict, snapshot, why } = taken;
  if (verdict === 'end') {
    const clean = !memory.evidence.contradicted;
    const whole = afterComplete(memory, walk, { snapshot, clean, now });
    return { walk, memory: whole, ask: { type: 'end', outcome: 'complete' } };
  }
  const direction = usableDirection(memory);
  if (verdict === 'stuck') {
    const back = stepBack(asked, memory, taken.refused);
    if (back !== null) return on({ ...walk, ...position(back) }, memory);
    return taken.refused && asked.maybeLast ? lastAfterAll(walk, memory) : fullFromTop(asked, memory, why);
  }
  if (direction === null && repeatsItself(walk, memory)) {
    const ask = failed(asked, `and those before it brought ${walk.items} items, far more than there are`);
    return { walk, memory, ask };
  }
  return on(walk, direction === 'falling' ? withFrontier(walk, memory) : memory);
}

/**
 * The last page said by a null `next_cursor` that it was the list's last, and no item's ID is taken as a cursor: so it
 * was, and the service's own cursors are the only ones. (A service that takes IDs may send that null with every page.)
 */
function lastAfterAll(walk: FullWalk, memory: ScopeMemory): Step<FullWalk> {
  const known: ScopeMemory = { ...memory, open: null, cursors: 'offered-only' };
  return { walk, memory: known, ask: { type: 'end', outcome: 'complete' } };
}

/** The ladder is used up: begins again from the top. */
export function fullFromTop(asked: FullWalk, memory: ScopeMemory, why: string): Step<FullWalk> {
  const again = fromTop(asked);
  return again === null ? { walk: asked, memory, ask: failed(asked, why) } : on(again, memory);
}

/**
 * In a first load polls need not wait for its end: what is newer than its first page is theirs, all else its own.
 * (Should it fail, the scope still waits for its first complete walk.)
 */
function withFrontier(walk: FullWalk, memory: ScopeMemory): ScopeMemory {
  const { first, firstAt: at } = walk;
  if (memory.frontier !== null || first === null) return memory;
  const asOf = readAsOf(walk);
  return { ...memory, frontier: advance(memory.keyType, null, { key: first, at, asOf }) };
}

/**
 * In an unknown order only counting ends a walk that the service sends in circles. Three passes may happen (two
 * restarts); the rest is room for items in quarantine, which are no rows, and for the page in hand.
 */
function repeatsItself(walk: FullWalk, memory: ScopeMemory): boolean {
  return walk.items > 4 * memory.rows + 10_000;
}

function on(walk: FullWalk, memory: ScopeMemory): Step<FullWalk> {
  return { walk, memory, ask: askFor(walk, memory) };
}
