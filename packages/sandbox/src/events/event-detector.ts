import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { LIST_ANALYSIS_MS, watchThreshold } from '../world/item-kinds.ts';
import { jobState, longestJobMs } from '../world/job-state.ts';
import type { Change } from '../world/overlay.ts';
import type { Population } from '../world/population.ts';
import type { SandboxCollection, UserData } from '../world/user-data.ts';
import { COLLECTION_OF_EVENT, endEventType, type ItemEvent } from './event-types.ts';

/** Items of each collection that one step of the clock reads; of more only the newest have events. */
const MAX_AT_ONCE = 50_000;

interface PendingEvent extends ItemEvent {
  /** False for a change from outside. */
  readonly byItself: boolean;
}

const COLLECTIONS = ['research_jobs', 'bulk_research_jobs', 'lists'] as const;
type EndingCollection = (typeof COLLECTIONS)[number];

/**
 * Finds the events of one user's data, as time passes and the data is changed. Items are functions of time, so nothing
 * is searched: the events of each new item are computed once and wait here until they are due. Of ten million initial
 * items only the unfinished ones are read.
 */
export class EventDetector {
  readonly #data: UserData;
  readonly #options: () => SandboxOptions;
  #pending: PendingEvent[] = [];
  /** Next slot to read, by collection. */
  readonly #nextSlot = new Map<SandboxCollection, number>();
  /** Next score change of the watchlist to read. */
  #nextScoreChange: number;
  #missed = 0;

  /** @param now only what happens later has events */
  constructor(data: UserData, options: () => SandboxOptions, now: number) {
    this.#data = data;
    this.#options = options;
    for (const collection of COLLECTIONS) {
      this.#nextSlot.set(collection, firstUnfinished(collection, data, options(), now));
      data.collection(collection).overlay.listen(({ id }, change) => this.#changed(collection, id, change));
    }
    const watchlist = data.collection('watchlist');
    const { scoreChanges, permutation } = watchlist.plan;
    this.#nextScoreChange = permutation.size === 0 ? 0 : scoreChanges.count(now);
    watchlist.overlay.listen(({ id }, change) => this.#scored(id, change));
    this.#read(now, Infinity);
    this.#takeDue(now);
  }

  /** Number of new items and score changes that a long step of the clock left out. */
  get missed(): number {
    return this.#missed;
  }

  /** The events since the last call, oldest first. */
  detect(now: number): ItemEvent[] {
    this.#read(now, MAX_AT_ONCE);
    return this.#takeDue(now).filter((event) => this.#isStillTrue(event));
  }

  #takeDue(now: number): PendingEvent[] {
    const due = this.#pending.filter(({ at }) => at <= now);
    if (due.length > 0) this.#pending = this.#pending.filter(({ at }) => at > now);
    return due.toSorted((a, b) => a.at - b.at);
  }

  #addPending(events: readonly ItemEvent[], byItself: boolean): void {
    for (const event of events) this.#pending.push({ ...event, byItself });
  }

  /**
   * Reads the new items and the score changes up to `now`.
   * @param most items of each collection
   */
  #read(now: number, most: number): void {
    const options = this.#options();
    for (const collection of COLLECTIONS) {
      const population = this.#data.collection(collection);
      const size = population.sequence.size(now);
      const first = this.#from(this.#nextSlot.get(collection) ?? size, size, most);
      for (let slot = first; slot < size; slot += 1)
        this.#addPending(endEventsOf(collection, population, slot, options), true);
      this.#nextSlot.set(collection, size);
    }
    const watchlist = this.#data.collection('watchlist');
    const { scoreChanges, permutation } = watchlist.plan;
    const passed = permutation.size === 0 ? 0 : scoreChanges.count(now);
    // One score change touches every `permutation.size`-th item.
    const touched = Math.max(1, watchlist.sequence.size(now) / permutation.size);
    const first = this.#from(this.#nextScoreChange, passed, Math.max(1, Math.floor(most / touched)));
    for (let k = first; k < passed; k += 1) this.#addPending(scoreEventsOf(watchlist, k), true);
    this.#nextScoreChange = passed;
  }

  #from(next: number, end: number, most: number): number {
    const first = Math.max(next, end - most);
    this.#missed += first - next;
    return first;
  }

  /** A change from outside: an event where it brings the item to a final state. A silent change has none. */
  #changed(collection: SandboxCollection, id: string, change: Change): void {
    if (change.silent) return;
    const type = endEventType(collection, statusIn(change));
    if (type !== undefined) this.#addPending([{ type, id, at: change.at }], false);
  }

  /** A change of a watched company's score from outside, before it is in the overlay. */
  #scored(id: string, change: Change): void {
    if (change.silent || change.kind !== 'update' || change.fields['score'] === undefined) return;
    const watchlist = this.#data.collection('watchlist');
    const ref = watchlist.find(id, change.at);
    if (ref === undefined) return;
    const distance = Math.abs(Number(JSON.stringify(change.fields['score'])) - watchlist.score(ref, change.at));
    const threshold = typeof ref === 'number' ? watchThreshold(watchlist.plan.hashOf(ref)) : 0;
    if (distance >= threshold) this.#addPending([{ type: 'watchlist.change_detected', id, at: change.at }], false);
  }

  /** Whether the event is still true: the item is visible, and no change from outside replaced its own state. */
  #isStillTrue({ type, id, at, byItself }: PendingEvent): boolean {
    const population = this.#data.collection(COLLECTION_OF_EVENT[type]);
    const ref = population.findVisible(id, at);
    if (ref === undefined) return false;
    const { source, fields } = population.overlaid(ref, at);
    return !byItself || (source === undefined && !Object.hasOwn(fields ?? {}, 'status'));
  }
}

/** First slot that may be unfinished at `now`: slots are in the order of creation. */
function firstUnfinished(collection: EndingCollection, data: UserData, options: SandboxOptions, now: number): number {
  const population = data.collection(collection);
  const longestMs = collection === 'lists' ? LIST_ANALYSIS_MS : longestJobMs(options);
  const since = now - population.lateMs - longestMs;
  let slot = population.sequence.size(now);
  while (slot > 0 && population.createdAt(slot - 1) >= since) slot -= 1;
  return slot;
}

/** The events of the watchlist's k-th score change: one for each significant change. */
function scoreEventsOf(watchlist: Population, k: number): ItemEvent[] {
  const { scoreChanges, permutation, hashOf } = watchlist.plan;
  const at = scoreChanges.at(k);
  const size = watchlist.sequence.size(at);
  const found: ItemEvent[] = [];
  for (let slot = permutation.itemAt(k); slot < size; slot += permutation.size) {
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
    // Tests also insert texts that are not JSON.
    return undefined;
  }
}

/** The events of a slot's item that reaches a final state by itself, in order of time: a retried job has two. */
function endEventsOf(
  collection: EndingCollection,
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
