import { fraction, hashText, mix } from '../hash.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { bulkJobKind, listItemKind, listKind, researchJobKind, watchEntryKind } from './item-kinds.ts';
import { idForm } from './id-form.ts';
import { Population, type ItemKind, type ItemRef } from './population.ts';
import { SteadyRate } from './sequence.ts';
import { Permutation } from './permutation.ts';

export type SandboxCollection = 'research_jobs' | 'bulk_research_jobs' | 'lists' | 'watchlist';

/** Extra lists have no slot: their items are derived from numbers above all slots. */
const FIRST_EXTRA_LIST = 0x8000_0000;

/** All lists share one pool of accounts, and begin at different places of it: an account may be on many lists. */
const POOL_PLACES = 5000;
const DAY_MS = 86_400_000;
/** Greatest growth of the distance between neighbours in a small collection. */
const MAX_GROWTH_MS = 3_600_000;

/** All data of one user. */
export class UserData {
  readonly userId: number;
  readonly #options: () => SandboxOptions;
  readonly #epoch: number;
  readonly #salt: number;
  readonly #top: Readonly<Record<SandboxCollection, Population>>;
  readonly #itemPermutation: Permutation;
  /** Items of the lists that were changed; all others are made for each call. */
  readonly #touchedLists = new Map<number, Population>();

  constructor(userId: number, epoch: number, options: () => SandboxOptions) {
    this.userId = userId;
    this.#options = options;
    this.#epoch = epoch;
    this.#salt = mix(options().seed, userId);
    this.#itemPermutation = new Permutation(options().itemsPerList);
    const sizes = options();
    const lists = listKind((snapshot) => this.#itemsOf(snapshot.slot, snapshot.createdAt));
    this.#top = {
      research_jobs: this.#collection(1, 'research_jobs', researchJobKind, sizes.jobs, 20_000, {
        creations: sizes.newJobsPerMinute,
        vanishings: sizes.vanishingJobsPerMinute,
      }),
      bulk_research_jobs: this.#collection(2, 'bulk_research_jobs', bulkJobKind, sizes.bulkJobs, 600_000, {
        creations: sizes.newBulkJobsPerMinute,
        vanishings: sizes.vanishingBulkJobsPerMinute,
      }),
      lists: this.#collection(3, 'lists', lists, sizes.lists, 1_800_000, {
        creations: sizes.newListsPerMinute,
        vanishings: sizes.vanishingListsPerMinute,
      }),
      watchlist: this.#collection(4, 'watchlist', watchEntryKind, sizes.watchlist, 3_600_000, {
        creations: sizes.newWatchEntriesPerMinute,
        vanishings: sizes.vanishingWatchEntriesPerMinute,
        scoreChanges: sizes.watchChangesPerMinute,
      }),
    };
  }

  collection(name: SandboxCollection): Population {
    return this.#top[name];
  }

  /** The list with this ID, visible or not; undefined where there never was one. */
  list(id: string, time: number): ItemRef | undefined {
    return this.#top.lists.find(id, time);
  }

  /** The items of a list. */
  items(list: ItemRef): Population {
    return this.#itemsOf(numberOf(list), this.#listCreatedAt(list));
  }

  /** The items of a list, to be changed: they are kept from now on. */
  itemsToChange(list: ItemRef): Population {
    const items = this.items(list);
    this.#touchedLists.set(numberOf(list), items);
    return items;
  }

  #scoredSince(): number {
    return this.#epoch - this.#options().ageDays * DAY_MS;
  }

  /** For a part of all hashes the company of an item that a list of the epoch has. */
  #listedCompany(hash: number): number | undefined {
    const { overlap, lists, itemsPerList } = this.#options();
    if (overlap === 0 || lists * itemsPerList === 0 || fraction(mix(hash, 71)) >= overlap) return undefined;
    const list = mix(hash, 72) % lists;
    const place = (mix(this.#salt + 5, list) % POOL_PLACES) + (mix(hash, 73) % itemsPerList);
    return mix(this.#salt + 6, place);
  }

  #listCreatedAt(list: ItemRef): number {
    return typeof list === 'number' ? this.#top.lists.createdAt(list) : (list.changes[0]?.at ?? this.#epoch);
  }

  #itemsOf(list: number, listCreatedAt: number): Population {
    const touched = this.#touchedLists.get(list);
    if (touched !== undefined) return touched;
    const options = this.#options();
    const since = Math.max(this.#epoch, listCreatedAt);
    const lists = Math.max(1, options.lists);
    const salt = mix(this.#salt + 5, list);
    const shift = salt % POOL_PLACES;
    const accounts = this.#salt + 6;
    const hashOf = (slot: number): number => mix(accounts, slot + shift);
    return new Population({
      name: `${this.userId}/list_items/${list}`,
      kind: listItemKind,
      ids: idForm(options.ids, accounts, shift),
      salt,
      since,
      initial: options.itemsPerList,
      initialCreatedAt: () => listCreatedAt,
      creations: new SteadyRate(since, options.newListItemsPerMinute / lists, phase(salt, 1)),
      vanishings: new SteadyRate(since, options.vanishingListItemsPerMinute / lists, phase(salt, 2)),
      scoreChanges: new SteadyRate(
        Math.max(this.#scoredSince(), listCreatedAt),
        options.scoreChangesPerMinute / lists,
        phase(salt, 3),
      ),
      permutation: this.#itemPermutation,
      hashOf,
      companyOf: hashOf,
      options: this.#options,
    });
  }

  #collection(
    number: number,
    name: SandboxCollection,
    kind: ItemKind,
    initial: number,
    spacing: number,
    rates: { readonly creations: number; readonly vanishings: number; readonly scoreChanges?: number },
  ): Population {
    const salt = this.#salt + number;
    const options = this.#options();
    const hashOf = (slot: number): number => mix(salt, slot);
    return new Population({
      name: `${this.userId}/${name}/`,
      kind,
      ids: idForm(name === 'watchlist' ? options.ids : options.numericIds, salt),
      salt,
      since: this.#epoch,
      initial,
      initialCreatedAt: initialAges(this.#epoch, initial, spacing, salt, options.ageDays || 730),
      creations: new SteadyRate(this.#epoch, rates.creations, 0),
      vanishings: new SteadyRate(this.#epoch, rates.vanishings, 0),
      scoreChanges: new SteadyRate(this.#scoredSince(), rates.scoreChanges ?? 0, 0),
      permutation: new Permutation(initial),
      hashOf,
      companyOf: (slot) => this.#listedCompany(hashOf(slot)) ?? hashOf(slot),
      options: this.#options,
    });
  }
}

function numberOf(list: ItemRef): number {
  return typeof list === 'number' ? list : FIRST_EXTRA_LIST + (hashText(list.id) >>> 1);
}

function phase(salt: number, number: number): number {
  return mix(salt, number) / 4_294_967_296;
}

/**
 * When the initial items were created: dense towards the epoch, so that the newest jobs are still unfinished, and back
 * to the horizon. Rises strictly with the slot in a collection of fewer than some 10 million items.
 * @param spacing milliseconds between the newest ones
 * @param horizonDays age of the oldest ones at the epoch, about
 */
function initialAges(
  epoch: number,
  size: number,
  spacing: number,
  salt: number,
  horizonDays: number,
): (slot: number) => number {
  const horizon = horizonDays * DAY_MS;
  const step = Math.min(spacing, horizon / 2 / Math.max(1, size));
  const growth = Math.min(MAX_GROWTH_MS, Math.max(0, horizon - step * size) / Math.max(1, size * size));
  return (slot) => {
    const age = size - 1 - slot;
    return Math.floor(epoch - 1000 - step * (age + 0.5 * fraction(mix(salt + 81, slot))) - growth * age * age);
  };
}
