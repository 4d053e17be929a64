import { mix } from '../hash.ts';
import { nextChange, type ItemRef, type Population } from './population.ts';

export type RankedOrder = 'last-updated' | 'score' | 'unordered';

interface Ranking {
  readonly refs: readonly ItemRef[];
  readonly from: number;
  readonly until: number;
  readonly revision: number;
  readonly posts: number;
}

/** Rankings kept at a time: enough for the walks of a daemon, bounded for ten thousand lists. */
const KEPT = 32;

/**
 * The orders that do not follow the IDs need a sorted array of the whole collection, which is kept until something
 * changes. Memory and time are proportional to the collection: use them for up to some 100,000 items.
 */
export class Rankings {
  readonly #kept = new Map<string, Ranking>();

  /** All visible items in this order at `time`. */
  read(population: Population, order: RankedOrder, time: number): readonly ItemRef[] {
    const name = `${order} ${population.plan.name}`;
    const kept = this.#kept.get(name);
    const { revision } = population.overlay;
    const { posts } = population.sequence;
    if (
      kept !== undefined &&
      kept.from <= time &&
      time < kept.until &&
      kept.revision === revision &&
      kept.posts === posts
    ) {
      return kept.refs;
    }
    const { refs, until } = rank(population, order, time);
    this.#kept.delete(name);
    this.#kept.set(name, { refs, from: time, until, revision, posts });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT) break;
      this.#kept.delete(oldest);
    }
    return refs;
  }

  /** Removes all rankings: call it when an option that the data depends on has changed. */
  clear(): void {
    this.#kept.clear();
  }
}

/** The number by which an order sorts an item, highest first. */
export function orderKey(population: Population, order: RankedOrder, ref: ItemRef, time: number): number {
  switch (order) {
    case 'last-updated':
      return population.updatedAt(ref, time);
    case 'score':
      return population.score(ref, time);
    case 'unordered':
      return mix(population.plan.salt + 71, Math.floor(population.rankOf(ref)));
  }
}

/** Compares two items, by key, then by rank, highest first. */
export function compareRanked(a: readonly [number, number], b: readonly [number, number]): number {
  return a[0] === b[0] ? b[1] - a[1] : a[0] < b[0] ? 1 : -1;
}

function rank(population: Population, order: RankedOrder, time: number): { refs: ItemRef[]; until: number } {
  const keyed: { ref: ItemRef; place: readonly [number, number] }[] = [];
  const { plan } = population;
  const options = plan.options();
  let until = nextChange(population, time);
  const add = (ref: ItemRef): void => {
    if (!population.visible(ref, time)) return;
    keyed.push({ ref, place: [orderKey(population, order, ref, time), population.rankOf(ref)] });
  };
  const size = population.sequence.size(time);
  for (let slot = 0; slot < size; slot += 1) {
    add(slot);
    if (order !== 'unordered') {
      until = Math.min(until, plan.kind.nextChange(population.snapshot(slot, time, -Infinity), options));
    }
  }
  for (const extra of population.overlay.extras) add(extra);
  keyed.sort((a, b) => compareRanked(a.place, b.place));
  return { refs: keyed.map((each) => each.ref), until };
}
