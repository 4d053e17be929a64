import type { Population } from './population.ts';

/**
 * How many items of a population are visible. Takes time for the overlay's entries and for creations that may still
 * be late, and O(1) for all others.
 */
export function countVisible(population: Population, time: number): number {
  const { plan, sequence, overlay } = population;
  const size = sequence.size(time);
  let count = 0;
  if (time < plan.since) {
    for (let slot = 0; slot < size; slot += 1) count += population.existsByItself(slot, time) ? 1 : 0;
  } else {
    count = size - sequence.postsAfter(time) - Math.min(plan.initial, plan.vanishings.count(time));
    for (const slot of notYetSafe(population, time)) count -= population.appearsAt(slot) > time ? 1 : 0;
    for (const { id } of overlay.extras) {
      const taken = plan.ids.slotOf(id);
      if (taken !== undefined && taken < size && population.appearsAt(taken) <= time) count -= 1;
    }
  }
  for (const entry of overlay.entries()) {
    const before = entry.slot !== undefined && population.existsByItself(entry.slot, time);
    count += Number(population.visible(entry.slot ?? entry, time)) - Number(before);
  }
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
