import { afterComplete } from './complete.ts';
import { usableDirection, type ScopeMemory } from '../memory/memory.ts';
import type { WalkedPage } from '../take-page.ts';
import { endWith, goOn } from '../ladder.ts';
import { newReading } from '../reading.ts';
import { inListOrder, jump, orderLost, stepRefresh, withoutCovered } from './refresh.ts';
import type { ConfirmWalk, Step } from '../walk.ts';

/**
 * Begins to read suspected rows again (docs/design/deletions.md, "Confirming"): first the top page, which tests the
 * order on which the other pages' proofs depend; then, like a refresh, the fewest pages that cover the rows.
 * @param keys of the suspected deletions, and of rows that become suspects where they are missing; in any order
 */
export function beginConfirm(
  memory: ScopeMemory,
  { keys, now }: { readonly keys: readonly string[]; readonly now: number },
): Step<ConfirmWalk> {
  const walk: ConfirmWalk = { ...newReading(now), kind: 'confirm', keys, todo: keys };
  return goOn(walk, memory);
}

/**
 * Goes on after an answer. A snapshot ends the walk (`complete`). So does a page that contradicts the order
 * (`full-needed`): two whole walks have to prove the rest.
 * @param asked the walk as it was when it asked
 */
export function stepConfirm(
  asked: ConfirmWalk,
  taken: WalkedPage<ConfirmWalk>,
  now: number,
): Step<ConfirmWalk> {
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
