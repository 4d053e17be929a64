import type { Population } from './population.ts';

/**
 * How many items of a population are visible: O(1) beside the overlay's entries and the births that may still be
 * late.
 */
export function countOf(population: Population, time: number): number {
  const { plan, sequence, overlay } = population;
  const size = sequence.size(time);
  let count = 0;
  if (time < plan.since) {
    for (let slot = 0; slot < size; slot += 1) count += population.lives(slot, time) ? 1 : 0;
  } else {
    count = size - sequence.postsAfter(time) - Math.min(plan.initial, plan.vanishings.count(time));
    for (const slot of notYetSafe(population, time)) count -= population.appearsAt(slot) > time ? 1 : 0;
    for (const { id } of overlay.strangers) {
      const taken = plan.ids.slotOf(id);
      if (taken !== undefined && taken < size && population.appearsAt(taken) <= time) count -= 1;
    }
  }
  for (const entry of overlay.entries()) {
    const before = entry.slot !== undefined && population.lives(entry.slot, time);
    count += Number(population.visible(entry.slot ?? entry, time)) - Number(before);
  }
  return count;
}

/** When a population last changed: a birth, a vanishing, a score, the overlay. -Infinity: never since the epoch. */
export function lastChange(population: Population, time: number): number {
  const { plan, sequence, overlay, lateMs } = population;
  const vanished = Math.min(plan.initial, plan.vanishings.count(time));
  const scored = plan.rota.size === 0 ? 0 : plan.scorings.count(time);
  let last = Math.max(
    overlay.lastMoment(time),
    vanished > 0 ? plan.vanishings.at(vanished - 1) : -Infinity,
    scored > 0 ? plan.scorings.at(scored - 1) : -Infinity,
  );
  for (let slot = sequence.size(time) - 1; slot >= plan.initial; slot -= 1) {
    const at = population.appearsAt(slot);
    if (at <= time) last = Math.max(last, at);
    // None before this one appeared later than `last`.
    if (population.createdAt(slot) + lateMs <= last) break;
  }
  return last;
}

/** Moment of the next such change; Infinity where none will come by itself. */
export function nextChange(population: Population, time: number): number {
  const { births, vanishings, scorings } = population.plan;
  let next = Math.min(
    births.next(time),
    vanishings.next(time),
    scorings.next(time),
    population.overlay.nextMoment(time),
  );
  for (const slot of notYetSafe(population, time)) {
    const at = population.appearsAt(slot);
    if (at > time) next = Math.min(next, at);
  }
  return next;
}

/** Slots created by `time` so lately that they may not have appeared yet, newest first. */
function* notYetSafe(population: Population, time: number): Generator<number> {
  const { plan, sequence, lateMs } = population;
  if (lateMs === 0) return;
  for (let slot = sequence.size(time) - 1; slot >= plan.initial; slot -= 1) {
    const createdAt = population.createdAt(slot);
    if (createdAt + lateMs <= time) return;
    if (createdAt <= time) yield slot;
  }
}
