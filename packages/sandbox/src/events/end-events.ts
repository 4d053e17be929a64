import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { LIST_ANALYSIS_MS } from '../world/kinds/list-kind.ts';
import { jobState, longestJobMs } from '../world/kinds/job-state.ts';
import type { Population } from '../world/population.ts';
import type { SandboxCollection } from '../world/user-data.ts';
import { endEventType } from './event-types.ts';
import type { ItemEvent } from './item-event.ts';

/** The events of a slot's item that reaches a final state by itself, in order of time: a retried job has two. */
export function endEventsOf(
  collection: SandboxCollection,
  population: Population,
  slot: number,
  options: SandboxOptions,
): ItemEvent[] {
  const createdAt = population.createdAt(slot);
  // An item that is committed late has no event before that.
  const appearsAt = population.appearsAt(slot);
  const ending = (word: string, at: number): ItemEvent[] => {
    const type = endEventType(collection, word);
    return type === undefined ? [] : [{ type, id: population.idOf(slot), at: Math.max(at, appearsAt) }];
  };
  if (collection === 'watchlist') return [];
  if (collection === 'lists') return ending('completed', createdAt + LIST_ANALYSIS_MS);
  const found: ItemEvent[] = [];
  const hash = population.plan.hashOf(slot);
  for (let time = createdAt; Number.isFinite(time);) {
    const { phase, since, until } = jobState(hash, createdAt, time, options);
    found.push(...ending(phase, since));
    time = until;
  }
  return found;
}

/** Longest time, in milliseconds, from an item's creation to its last event. */
export function longestLifeMs(collection: SandboxCollection, options: SandboxOptions): number {
  if (collection === 'watchlist') return 0;
  const late = options.lateShare === 0 ? 0 : options.lateSeconds * 1000;
  return late + (collection === 'lists' ? LIST_ANALYSIS_MS : longestJobMs(options));
}
