import { firstAbove } from './sequence.ts';

/** A change of one item from outside. */
export type Change = { readonly at: number; readonly silent: boolean } & (
  | { readonly kind: 'delete' | 'restore' }
  | { readonly kind: 'update'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'insert'; readonly source: string }
);

/** An item that was changed or inserted: its changes in order of time, some of them possibly in the future. */
export interface Entry {
  readonly id: string;
  /** Rank among the slots: the slot itself, or between two slots. */
  readonly rank: number;
  /** Undefined for an extra item: an inserted one whose ID belongs to no slot. */
  readonly slot: number | undefined;
  readonly changes: Change[];
}

/** The result of all changes up to one time. */
export interface Overlaid {
  /** Undefined: as without changes. */
  readonly present: boolean | undefined;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
  /** Whole text of an inserted item. */
  readonly source: string | undefined;
  /** When its fields last changed (delete and restore change none); -Infinity: never. */
  readonly changedAt: number;
}

const UNTOUCHED: Overlaid = {
  present: undefined,
  fields: undefined,
  source: undefined,
  changedAt: -Infinity,
};

/** The changes of one population's items from outside. Memory: one entry for each changed item. */
export class Overlay {
  readonly #bySlot = new Map<number, Entry>();
  readonly #byId = new Map<string, Entry>();
  /** Inserted items without a slot, sorted by rank. */
  readonly #extras: Entry[] = [];
  /** Times of all changes, and of those that move `updated_at`, sorted. */
  readonly #moments: number[] = [];
  readonly #updates: number[] = [];
  #onAdd: ((item: Pick<Entry, 'id' | 'slot' | 'rank'>, change: Change) => void) | undefined;

  /** Rises with every change: a result computed at another revision is stale. */
  get revision(): number {
    return this.#moments.length;
  }

  get extras(): readonly Entry[] {
    return this.#extras;
  }

  ofSlot(slot: number): Entry | undefined {
    return this.#bySlot.get(slot);
  }

  ofId(id: string): Entry | undefined {
    return this.#byId.get(id);
  }

  /** Calls `listener` just before each later change is added. There is one listener. */
  listen(listener: (item: Pick<Entry, 'id' | 'slot' | 'rank'>, change: Change) => void): void {
    this.#onAdd = listener;
  }

  /** Adds a change to the item with this ID, slot and rank. */
  add(item: Pick<Entry, 'id' | 'slot' | 'rank'>, change: Change): void {
    this.#onAdd?.(item, change);
    let entry = this.#byId.get(item.id);
    if (entry === undefined) {
      entry = { ...item, changes: [] };
      this.#byId.set(item.id, entry);
      if (item.slot === undefined) insert(this.#extras, (extra) => extra.rank, entry);
      else this.#bySlot.set(item.slot, entry);
    }
    insert(entry.changes, ({ at }) => at, change);
    insert(this.#moments, (at) => at, change.at);
    if (!change.silent) insert(this.#updates, (at) => at, change.at);
  }

  /** The result of an entry's changes at `time`. */
  at(entry: Entry | undefined, time: number): Overlaid {
    if (entry === undefined) return UNTOUCHED;
    let { present, fields, source, changedAt } = UNTOUCHED;
    for (const change of entry.changes) {
      if (change.at > time) break;
      if (change.kind === 'update') fields = { ...fields, ...change.fields };
      else if (change.kind === 'insert') [present, source, fields] = [true, change.source, undefined];
      else present = change.kind === 'restore';
      const changesFields = change.kind === 'update' || change.kind === 'insert';
      if (changesFields && !change.silent) changedAt = change.at;
    }
    return { present, fields, source, changedAt };
  }

  /** Time of the last change at or before `time`, without silent ones; -Infinity where there is none. */
  lastMoment(time: number): number {
    return this.#updates[firstAbove(this.#updates, (moment) => moment, time) - 1] ?? -Infinity;
  }

  /** Time of the first change after `time`; Infinity where there is none. */
  nextMoment(time: number): number {
    return this.#moments[firstAbove(this.#moments, (moment) => moment, time)] ?? Infinity;
  }
}

/** Inserts an element into an array sorted by `number`. */
function insert<T>(sorted: T[], number: (element: T) => number, element: T): void {
  sorted.splice(firstAbove(sorted, number, number(element)), 0, element);
}
