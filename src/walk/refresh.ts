import { mayBeFew, newReading } from './reading.ts';
import { compareInList, type ListDirection, type ScopeMemory, usableDirection } from './memory.ts';
import type { WalkedPage } from './take-page.ts';
import { endWith, fromTop, giveUp, goOn, stepBack } from './checkpoint.ts';
import type { ConfirmWalk, RefreshWalk, Step } from './walk.ts';
import { afterComplete } from './full.ts';

/** Walks that cover given keys. */
type Covering = RefreshWalk | ConfirmWalk;

/** Items of a page that is read for one row: the row follows the cursor, and the rest allows for unknown rows. */
const AROUND_ONE_ROW = 20;

/**
 * Begins to reread rows in the fewest pages (docs/design/walks.md, "Refresh by cover"): each page begins after the
 * stored predecessor of the first key that is not covered yet.
 * @param unfinished keys, in any order
 */
export function beginRefresh(
  memory: ScopeMemory,
  { unfinished, now }: { readonly unfinished: readonly string[]; readonly now: number },
): Step<RefreshWalk> {
  const direction = usableDirection(memory);
  const walk: RefreshWalk = { ...newReading(now), kind: 'refresh', todo: [] };
  if (direction === null) return orderLost(walk, memory);
  const todo = inListOrder(memory, direction, unfinished);
  const isOne = todo.length === 1 && memory.cursors === 'ids';
  const isFew = isOne && mayBeFew(memory.limit, memory.rows, AROUND_ONE_ROW);
  return jump({ ...walk, todo, few: isFew ? AROUND_ONE_ROW : null }, memory);
}

/** The next step after an answer. @param asked the walk at the time of the request */
export function stepRefresh<W extends Covering>(asked: W, taken: WalkedPage<W>): Step<W> {
  const { reading: walk, memory, verdict, why } = taken;
  if (verdict === 'end') return jump({ ...walk, todo: [] }, memory);
  const direction = usableDirection(memory);
  if (direction === null) return orderLost(walk, memory);
  if (verdict === 'stuck') {
    const back = stepBack(asked, memory, taken.refused);
    if (back !== null) return goOn({ ...walk, ...back }, memory);
    const top = memory.cursors === 'offered-only' ? fromTop(asked) : null;
    return top === null ? giveUp(asked, memory, why) : goOn(top, memory);
  }
  const todo = withoutCovered(walk, memory, direction);
  // New rows or steps back came before the key: read on, since its predecessor may be a cursor that has just failed.
  if (todo[0] !== undefined && todo[0] === walk.todo[0]) return goOn(walk, memory);
  return jump({ ...walk, todo }, memory);
}

/** Continues after the stored predecessor, or after the last key read if that lies further. */
export function refreshAfter<W extends Covering>(walk: W, memory: ScopeMemory, key: string | null): Step<W> {
  const direction = usableDirection(memory);
  if (direction === null) return orderLost(walk, memory);
  const last = walk.recent.at(-1);
  const isFurther = last === undefined || (key !== null && isBeyond(memory, direction, key, last));
  if (walk.rung > 0) return goOn({ ...walk, seek: 0, cursor: key }, memory);
  const next = isFurther ? { cursor: key, recent: [] } : { cursor: last };
  return goOn({ ...walk, seek: 0, ...next }, memory);
}

/** Jumps to the first key that is not covered yet; page by page if the service accepts its own cursors only. */
function jump<W extends Covering>(walk: W, memory: ScopeMemory): Step<W> {
  const [next] = walk.todo;
  if (next === undefined) return endWith(walk, memory, 'reached');
  if (memory.cursors === 'offered-only') return goOn(walk, memory);
  const there = { cursor: next, token: false, back: undefined, seek: 1, rung: 0, empties: 0, again: null };
  return goOn({ ...walk, ...there }, memory);
}

/** Keys in the list's order, the one nearest to the top first. */
function inListOrder(memory: ScopeMemory, direction: ListDirection, keys: readonly string[]): readonly string[] {
  return keys.toSorted((a, b) => compareInList(memory.keyType, direction, a, b));
}

/** Keys beyond the last one read. */
function withoutCovered(walk: Covering, memory: ScopeMemory, direction: ListDirection): readonly string[] {
  const last = walk.recent.at(-1);
  return last === undefined ? walk.todo : walk.todo.filter((key) => isBeyond(memory, direction, key, last));
}

function isBeyond(memory: ScopeMemory, direction: ListDirection, key: string, last: string): boolean {
  return compareInList(memory.keyType, direction, key, last) > 0;
}

function orderLost<W extends Covering>(walk: W, memory: ScopeMemory): Step<W> {
  const reason = 'the order of the list is not known';
  return { walk, memory, ask: { type: 'end', outcome: 'full-needed', reason } };
}

/**
 * Begins to reread suspected rows (docs/design/deletions.md, "Confirming"): the top page first, which tests the order
 * on which the other pages' proofs depend; then the fewest pages that cover the rows, as in a refresh.
 * @param keys of suspected deletions, and of rows that become suspects if they are missing; in any order
 */
export function beginConfirm(
  memory: ScopeMemory,
  { keys, now }: { readonly keys: readonly string[]; readonly now: number },
): Step<ConfirmWalk> {
  const walk: ConfirmWalk = { ...newReading(now), kind: 'confirm', keys, todo: keys };
  return goOn(walk, memory);
}

/**
 * The next step after an answer. A snapshot ends the walk (`complete`). So does a page that contradicts the order
 * (`full-needed`): two whole walks have to prove the rest.
 * @param asked the walk at the time of the request
 */
export function stepConfirm(asked: ConfirmWalk, taken: WalkedPage<ConfirmWalk>, now: number): Step<ConfirmWalk> {
  const { reading: walk, memory, snapshot, contradiction } = taken;
  if (snapshot) {
    const whole = afterComplete(memory, walk, { snapshot, clean: !contradiction, now });
    return endWith({ ...walk, todo: [] }, whole, 'complete');
  }
  const direction = usableDirection(memory);
  if (contradiction || direction === null) return orderLost(walk, memory);
  if (asked.pages > 0 || taken.verdict !== 'on') return stepRefresh(asked, taken);
  const todo = inListOrder(memory, direction, walk.todo);
  return jump({ ...walk, todo: withoutCovered({ ...walk, todo }, memory, direction) }, memory);
}
