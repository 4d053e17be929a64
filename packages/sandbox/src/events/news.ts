import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { watchThreshold } from '../world/kinds/account-kinds.ts';
import type { Change } from '../world/overlay.ts';
import type { Population } from '../world/population.ts';
import { firstAbove } from '../world/sorted.ts';
import type { SandboxCollection, UserData } from '../world/user-data.ts';
import { endingsOf, longestLifeMs } from './endings.ts';
import { COLLECTION_OF_EVENT, endingEvent } from './event-types.ts';
import type { Occurrence } from './occurrence.ts';

/** Items that are looked at in one step of the clock, of each collection: of more, only the last ones bring events. */
const MOST_AT_ONCE = 50_000;

interface Expected extends Occurrence {
  /** False for what was done to the item from outside. */
  readonly byItself: boolean;
}

const COLLECTIONS = ['research_jobs', 'bulk_research_jobs', 'lists'] as const;

/**
 * The events of one user's data, as time passes and things are done to it. Items are functions of
 * time, so nothing is searched: each new item's endings are computed once and wait here; of ten million items that
 * were there before, only those that are not finished yet are looked at.
 */
export class News {
  readonly #data: UserData;
  readonly #options: () => SandboxOptions;
  /** By moment, once `#sorted`. */
  #waiting: Expected[] = [];
  #sorted = true;
  /** First slot of each collection that was not looked at. */
  readonly #nextSlot = new Map<SandboxCollection, number>();
  /** First score change of the watchlist that was not looked at. */
  #nextScoring: number;
  #missed = 0;

  /** @param now news come of what is later than this */
  constructor(data: UserData, options: () => SandboxOptions, now: number) {
    this.#data = data;
    this.#options = options;
    for (const collection of COLLECTIONS) {
      this.#nextSlot.set(collection, firstUnfinished(collection, data, options(), now));
      data.collection(collection).overlay.listen(({ id }, change) => this.#changed(collection, id, change));
    }
    const watchlist = data.collection('watchlist');
    const { scorings, rota } = watchlist.plan;
    this.#nextScoring = rota.size === 0 ? 0 : scorings.count(now);
    watchlist.overlay.listen(({ id }, change) => this.#scored(id, change));
    this.#look(now, Infinity);
    this.#take(now);
  }

  /** New items and score changes that a step of the clock left out. */
  get missed(): number {
    return this.#missed;
  }

  /** What happened since the last call, oldest first. */
  until(now: number): Occurrence[] {
    this.#look(now, MOST_AT_ONCE);
    return this.#take(now).filter((occurrence) => this.#isStillTrue(occurrence));
  }

  #take(now: number): Expected[] {
    if (!this.#sorted) this.#waiting.sort((a, b) => a.at - b.at);
    this.#sorted = true;
    return this.#waiting.splice(
      0,
      firstAbove(this.#waiting, ({ at }) => at, now),
    );
  }

  #expect(occurrences: readonly Occurrence[], byItself: boolean): void {
    for (const occurrence of occurrences) this.#waiting.push({ ...occurrence, byItself });
    if (occurrences.length > 0) this.#sorted = false;
  }

  /**
   * Looks at the items that are new, and at the score changes that passed.
   * @param most items of each collection
   */
  #look(now: number, most: number): void {
    const options = this.#options();
    for (const collection of COLLECTIONS) {
      const population = this.#data.collection(collection);
      const size = population.sequence.size(now);
      const first = this.#from(this.#nextSlot.get(collection) ?? size, size, most);
      for (let slot = first; slot < size; slot += 1)
        this.#expect(endingsOf(collection, population, slot, options), true);
      this.#nextSlot.set(collection, size);
    }
    const watchlist = this.#data.collection('watchlist');
    const { scorings, rota } = watchlist.plan;
    const passed = rota.size === 0 ? 0 : scorings.count(now);
    // Each touches one item in so many as there were at the epoch.
    const touched = Math.max(1, watchlist.sequence.size(now) / rota.size);
    const first = this.#from(this.#nextScoring, passed, Math.max(1, Math.floor(most / touched)));
    for (let k = first; k < passed; k += 1) this.#expect(scoringsOf(watchlist, k), true);
    this.#nextScoring = passed;
  }

  #from(next: number, end: number, most: number): number {
    const first = Math.max(next, end - most);
    this.#missed += first - next;
    return first;
  }

  /** Something was done to an item: news where it comes to an end by that. What is done silently is no news. */
  #changed(collection: SandboxCollection, id: string, change: Change): void {
    if (change.silent) return;
    const type = endingEvent(collection, statusIn(change));
    if (type !== undefined) this.#expect([{ type, id, at: change.at }], false);
  }

  /** A watched company got a score from outside; the change is not in the overlay yet. */
  #scored(id: string, change: Change): void {
    if (change.silent || change.kind !== 'update' || change.fields['score'] === undefined) return;
    const watchlist = this.#data.collection('watchlist');
    const ref = watchlist.find(id, change.at);
    if (ref === undefined) return;
    const distance = Math.abs(
      Number(JSON.stringify(change.fields['score'])) - watchlist.score(ref, change.at),
    );
    const threshold = typeof ref === 'number' ? watchThreshold(watchlist.plan.hashOf(ref)) : 0;
    if (distance >= threshold)
      this.#expect([{ type: 'watchlist.change_detected', id, at: change.at }], false);
  }

  /** Whether it is so: the item is there, and nothing done to it stands in place of what it came to by itself. */
  #isStillTrue({ type, id, at, byItself }: Expected): boolean {
    const population = this.#data.collection(COLLECTION_OF_EVENT[type]);
    const ref = population.find(id, at);
    if (ref === undefined || !population.visible(ref, at)) return false;
    const { source, fields } = population.overlay.at(population.overlay.ofId(id), at);
    return !byItself || (source === undefined && !Object.hasOwn(fields ?? {}, 'status'));
  }
}

/** First slot of those that may not be finished at `now`: items are numbered in the order of their creation. */
function firstUnfinished(
  collection: SandboxCollection,
  data: UserData,
  options: SandboxOptions,
  now: number,
): number {
  const population = data.collection(collection);
  const since = now - longestLifeMs(collection, options);
  let slot = population.sequence.size(now);
  while (slot > 0 && population.createdAt(slot - 1) >= since) slot -= 1;
  return slot;
}

/** The watched companies whose score the k-th change of the watchlist moved significantly. */
function scoringsOf(watchlist: Population, k: number): Occurrence[] {
  const { scorings, rota, hashOf } = watchlist.plan;
  const at = scorings.at(k);
  const size = watchlist.sequence.size(at);
  const found: Occurrence[] = [];
  for (let slot = rota.member(k); slot < size; slot += rota.size) {
    const distance = Math.abs(watchlist.score(slot, at) - watchlist.score(slot, at - 1));
    if (distance >= watchThreshold(hashOf(slot)))
      found.push({ type: 'watchlist.change_detected', id: watchlist.idOf(slot), at });
  }
  return found;
}

/** The `status` that a change gives an item; undefined where it gives none. */
function statusIn(change: Change): unknown {
  if (change.kind === 'update') return change.fields['status'];
  if (change.kind !== 'insert') return undefined;
  try {
    return (JSON.parse(change.source) as { status?: unknown } | null)?.status;
  } catch {
    // Tests insert what is no JSON, too.
    return undefined;
  }
}
