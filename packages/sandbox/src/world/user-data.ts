import { hashText, mix } from '../hash.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { listItemKind, watchEntryKind } from './kinds/account-kinds.ts';
import { initialAges } from './initial-ages.ts';
import { idForm } from './id-form.ts';
import type { ItemKind } from './kinds/item-kind.ts';
import { bulkJobKind, researchJobKind } from './kinds/job-kinds.ts';
import { listKind } from './kinds/list-kind.ts';
import { Population, type Ref } from './population.ts';
import { Pulse } from './pulse.ts';
import { Rota } from './rota.ts';

export type SandboxCollection = 'research_jobs' | 'bulk_research_jobs' | 'lists' | 'watchlist';

/** Inserted lists have no slot; their items are derived from numbers above all slots. */
const STRANGER = 0x8000_0000;

/** All data of one user. */
export class UserData {
  readonly userId: number;
  readonly #options: () => SandboxOptions;
  readonly #epoch: number;
  readonly #salt: number;
  readonly #top: Readonly<Record<SandboxCollection, Population>>;
  readonly #itemsRota: Rota;
  /** Items of those lists that something was done to; all others are made anew each time. */
  readonly #touchedLists = new Map<number, Population>();

  constructor(userId: number, epoch: number, options: () => SandboxOptions) {
    this.userId = userId;
    this.#options = options;
    this.#epoch = epoch;
    this.#salt = mix(options().seed, userId);
    this.#itemsRota = new Rota(options().itemsPerList);
    const sizes = options();
    const lists = listKind((subject) => this.#itemsOf(subject.slot, subject.createdAt));
    this.#top = {
      research_jobs: this.#collection(1, 'research_jobs', researchJobKind, sizes.jobs, 20_000, {
        births: sizes.newJobsPerMinute,
        vanishings: sizes.vanishingJobsPerMinute,
      }),
      bulk_research_jobs: this.#collection(2, 'bulk_research_jobs', bulkJobKind, sizes.bulkJobs, 600_000, {
        births: sizes.newBulkJobsPerMinute,
        vanishings: sizes.vanishingBulkJobsPerMinute,
      }),
      lists: this.#collection(3, 'lists', lists, sizes.lists, 1_800_000, {
        births: sizes.newListsPerMinute,
        vanishings: sizes.vanishingListsPerMinute,
      }),
      watchlist: this.#collection(4, 'watchlist', watchEntryKind, sizes.watchlist, 3_600_000, {
        births: sizes.newWatchEntriesPerMinute,
        vanishings: sizes.vanishingWatchEntriesPerMinute,
        scorings: sizes.watchChangesPerMinute,
      }),
    };
  }

  collection(name: SandboxCollection): Population {
    return this.#top[name];
  }

  /** The list with this ID, visible or not; undefined where there never was one. */
  list(id: string, time: number): Ref | undefined {
    return this.#top.lists.find(id, time);
  }

  /** The items of a list. */
  items(list: Ref): Population {
    return this.#itemsOf(numberOf(list), this.#listCreatedAt(list));
  }

  /** The items of a list, kept from now on: for whoever changes them. */
  itemsToChange(list: Ref): Population {
    const items = this.items(list);
    this.#touchedLists.set(numberOf(list), items);
    return items;
  }

  #listCreatedAt(list: Ref): number {
    return typeof list === 'number' ? this.#top.lists.createdAt(list) : (list.changes[0]?.at ?? this.#epoch);
  }

  #itemsOf(list: number, listCreatedAt: number): Population {
    const touched = this.#touchedLists.get(list);
    if (touched !== undefined) return touched;
    const options = this.#options();
    const since = Math.max(this.#epoch, listCreatedAt);
    const lists = Math.max(1, options.lists);
    const salt = mix(this.#salt + 5, list);
    // All lists draw on one pool of accounts, each beginning at another place: the same account may be on many.
    const shift = salt % 5000;
    const accounts = this.#salt + 6;
    return new Population({
      name: `${this.userId}/list_items/${list}`,
      kind: listItemKind,
      ids: idForm(options.ids, accounts, shift),
      salt,
      since,
      initial: options.itemsPerList,
      initialCreatedAt: () => listCreatedAt,
      births: new Pulse(since, options.newListItemsPerMinute / lists, phase(salt, 1)),
      vanishings: new Pulse(since, options.vanishingListItemsPerMinute / lists, phase(salt, 2)),
      scorings: new Pulse(since, options.scoreChangesPerMinute / lists, phase(salt, 3)),
      rota: this.#itemsRota,
      hashOf: (slot) => mix(accounts, slot + shift),
      options: this.#options,
    });
  }

  #collection(
    number: number,
    name: SandboxCollection,
    kind: ItemKind,
    initial: number,
    spacing: number,
    rates: { readonly births: number; readonly vanishings: number; readonly scorings?: number },
  ): Population {
    const salt = this.#salt + number;
    const options = this.#options();
    return new Population({
      name: `${this.userId}/${name}/`,
      kind,
      ids: idForm(name === 'watchlist' ? options.ids : options.numericIds, salt),
      salt,
      since: this.#epoch,
      initial,
      initialCreatedAt: initialAges(this.#epoch, initial, spacing, salt),
      births: new Pulse(this.#epoch, rates.births, 0),
      vanishings: new Pulse(this.#epoch, rates.vanishings, 0),
      scorings: new Pulse(this.#epoch, rates.scorings ?? 0, 0),
      rota: new Rota(initial),
      hashOf: (slot) => mix(salt, slot),
      options: this.#options,
    });
  }
}

function numberOf(list: Ref): number {
  return typeof list === 'number' ? list : STRANGER + (hashText(list.id) >>> 1);
}

function phase(salt: number, number: number): number {
  return mix(salt, number) / 4_294_967_296;
}
