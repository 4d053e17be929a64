import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { LIST_ANALYSIS_MS } from '../world/kinds/list-kind.ts';
import { jobState, longestJobMs } from '../world/kinds/job-state.ts';
import type { Population } from '../world/population.ts';
import type { SandboxCollection } from '../world/user-data.ts';
import { endingEvent } from './event-types.ts';
import type { Occurrence } from './occurrence.ts';

/** When the item of a slot ends by itself, in order of time: a job that is retried ends twice. */
export function endingsOf(
  collection: SandboxCollection,
  population: Population,
  slot: number,
  options: SandboxOptions,
): Occurrence[] {
  const createdAt = population.createdAt(slot);
  // An item that is committed late is not there before, and neither is its end.
  const appearsAt = population.appearsAt(slot);
  const ending = (word: string, at: number): Occurrence[] => {
    const type = endingEvent(collection, word);
    return type === undefined ? [] : [{ type, id: population.idOf(slot), at: Math.max(at, appearsAt) }];
  };
  if (collection === 'watchlist') return [];
  if (collection === 'lists') return ending('completed', createdAt + LIST_ANALYSIS_MS);
  const found: Occurrence[] = [];
  const hash = population.plan.hashOf(slot);
  for (let time = createdAt; Number.isFinite(time);) {
    const { phase, since, until } = jobState(hash, createdAt, time, options);
    found.push(...ending(phase, since));
    time = until;
  }
  return found;
}

/** Longest time, in milliseconds, from an item's creation until nothing of it ends any more. */
export function longestLifeMs(collection: SandboxCollection, options: SandboxOptions): number {
  if (collection === 'watchlist') return 0;
  const late = options.lateShare === 0 ? 0 : options.lateSeconds * 1000;
  return late + (collection === 'lists' ? LIST_ANALYSIS_MS : longestJobMs(options));
}
