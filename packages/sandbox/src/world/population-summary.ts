import type { Population } from './population.ts';

/** How many items of a population are visible. */
export function countVisible(population: Population, time: number): number {
  const { sequence, overlay } = population;
  let count = overlay.extras.filter((extra) => population.visible(extra, time)).length;
  for (let slot = sequence.size(time) - 1; slot >= 0; slot -= 1)
    if (population.visible(slot, time)) count += 1;
  return count;
}

/** When a population last changed: a creation, a vanishing, a score, the overlay. -Infinity: never since the epoch. */
export function lastChange(population: Population, time: number): number {
  const { plan, sequence, overlay, lateMs } = population;
  const vanished = Math.min(plan.initial, plan.vanishings.count(time));
  const scored = plan.permutation.size === 0 ? 0 : plan.scoreChanges.count(time);
  let last = Math.max(
    overlay.lastMoment(time),
    vanished > 0 ? plan.vanishings.at(vanished - 1) : -Infinity,
    scored > 0 ? plan.scoreChanges.at(scored - 1) : -Infinity,
  );
  for (let slot = sequence.size(time) - 1; slot >= plan.initial; slot -= 1) {
    const at = population.appearsAt(slot);
    if (at <= time) last = Math.max(last, at);
    // No earlier slot appeared later than `last`.
    if (population.createdAt(slot) + lateMs <= last) break;
  }
  return last;
}

/** Time of the next such change; Infinity where there is none. */
export function nextChange(population: Population, time: number): number {
  const { creations, vanishings, scoreChanges } = population.plan;
  let next = Math.min(
    creations.next(time),
    vanishings.next(time),
    scoreChanges.next(time),
    population.overlay.nextMoment(time),
  );
  for (const slot of notYetSafe(population, time)) {
    const at = population.appearsAt(slot);
    if (at > time) next = Math.min(next, at);
  }
  return next;
}

/** Slots created so shortly before `time` that they may not be visible yet, newest first. */
function* notYetSafe(population: Population, time: number): Generator<number> {
  const { plan, sequence, lateMs } = population;
  if (lateMs === 0) return;
  for (let slot = sequence.size(time) - 1; slot >= plan.initial; slot -= 1) {
    const createdAt = population.createdAt(slot);
    if (createdAt + lateMs <= time) return;
    if (createdAt <= time) yield slot;
  }
}
