import { advance, advanceByFull } from './frontier.ts';
import { compareInList, type ScopeMemory, usableDirection } from './memory.ts';
import type { WalkedPage } from './take-page.ts';
import { endWith, fromTop, giveUp, goOn, stepBack } from './checkpoint.ts';
import { newReading, readAsOf, type Reading } from './reading.ts';
import type { FullWalk, Step } from './walk.ts';

/**
 * Begins a walk over all pages.
 * @param liveRows of the scope in the mirror: a list with far more items repeats itself
 */
export function beginFull(
  memory: ScopeMemory,
  { liveRows, now }: { readonly liveRows: number; readonly now: number },
): Step<FullWalk> {
  return goOn({ ...newReading(now), kind: 'full', resumed: false, liveRows }, memory);
}

/** The memory for the first page of a full walk: contradictions and rows count from here. */
export function withFullBegun(walk: FullWalk, memory: ScopeMemory): ScopeMemory {
  if (walk.pages > 0) return memory;
  return { ...memory, evidence: { ...memory.evidence, contradicted: false }, rows: walk.liveRows };
}

/** The next step after an answer. @param asked the walk at the time of the request */
export function stepFull(asked: FullWalk, taken: WalkedPage<FullWalk>, now: number): Step<FullWalk> {
  const { reading: walk, memory, verdict, snapshot, why } = taken;
  if (verdict === 'end') {
    const clean = !memory.evidence.contradicted;
    const whole = afterComplete(memory, walk, { snapshot, clean, now });
    return endWith(walk, whole, 'complete');
  }
  const direction = usableDirection(memory);
  if (verdict === 'stuck') {
    const back = stepBack(asked, memory, taken.refused);
    if (back !== null) return goOn({ ...walk, ...back }, memory);
    return taken.refused && asked.maybeLast ? lastAfterAll(walk, memory) : fullFromTop(asked, memory, why);
  }
  if (direction === null && repeatsItself(walk, memory)) {
    const why = `and the pages before it had ${walk.items} items, far more than the list has`;
    return { ...giveUp(asked, memory, why), walk };
  }
  return goOn(walk, direction === 'falling' ? withFrontier(walk, memory) : memory);
}

/**
 * The page before had a null `next_cursor`, and then the service refused its last item's ID: that page was the last
 * one, and the service accepts its own cursors only. (A service that accepts IDs may send null with every page.)
 */
function lastAfterAll(walk: FullWalk, memory: ScopeMemory): Step<FullWalk> {
  const known: ScopeMemory = { ...memory, open: null, cursors: 'offered-only' };
  return endWith(walk, known, 'complete');
}

/** The ladder is exhausted: restarts from the top. */
export function fullFromTop(asked: FullWalk, memory: ScopeMemory, why: string): Step<FullWalk> {
  const again = fromTop(asked);
  return again === null ? giveUp(asked, memory, why) : goOn(again, memory);
}

/**
 * Sets the frontier at the first page of a first load, so that polls need not wait for its end: they read what is
 * newer. (If the load fails, the scope still waits for its first complete walk.)
 */
function withFrontier(walk: FullWalk, memory: ScopeMemory): ScopeMemory {
  const { first, firstAt: at } = walk;
  if (memory.frontier !== null || first === null) return memory;
  const asOf = readAsOf(walk);
  return { ...memory, frontier: advance(memory.keyType, null, { key: first, at, asOf }) };
}

/**
 * In an unknown order only a count detects a walk in circles. Two restarts make three passes; the rest is room for
 * items in quarantine, which are not rows, and for the page just read.
 */
function repeatsItself(walk: FullWalk, memory: ScopeMemory): boolean {
  return walk.items > 4 * memory.rows + 10_000;
}

/**
 * Whether a full walk has read everything from the top of the list through the place of `key`, with or without a row
 * there. The list needs an order, and the walk must not have restarted.
 */
export function hasReadThrough(walk: FullWalk, memory: ScopeMemory, key: string): boolean {
  const direction = usableDirection(memory);
  const last = walk.recent.at(-1);
  if (direction === null || last === undefined || walk.restarts > 0) return false;
  return compareInList(memory.keyType, direction, last, key) >= 0;
}

/**
 * The memory after every item of the scope was read. No part of an interrupted poll is left. A clean pass makes the
 * order usable again after a contradiction, and has reached the old frontier.
 * @param pass `snapshot`: one answer was the whole scope; `clean`: nothing contradicted the order since it began
 */
export function afterComplete(
  memory: ScopeMemory,
  reading: Reading,
  pass: { snapshot: boolean; clean: boolean; now: number },
): ScopeMemory {
  const { direction } = memory.evidence;
  if (!pass.clean || direction === null) return { ...memory, open: null };
  const evidence = { ...memory.evidence, doubt: false };
  const falling = direction === 'falling';
  const key = falling ? reading.first : reading.recent.at(-1);
  if (key === null || key === undefined) return { ...memory, evidence, open: null };
  const reached = { key, at: falling ? reading.firstAt : pass.now, asOf: readAsOf(reading) };
  const move = pass.snapshot ? advance : advanceByFull;
  return { ...memory, evidence, open: null, frontier: move(memory.keyType, memory.frontier, reached) };
}
