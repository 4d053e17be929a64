import { firstAbove } from './sorted.ts';

/** Something done to one item from outside, at a moment. */
export type Change = { readonly at: number; readonly silent: boolean } & (
  | { readonly kind: 'delete' | 'restore' }
  | { readonly kind: 'update'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'insert'; readonly source: string }
);

/** An item that was changed or inserted: what was done, in order of time (a change may be planned for later). */
export interface Entry {
  readonly id: string;
  /** Place among the slots (the slot itself, or between two). */
  readonly rank: number;
  /** Undefined for an inserted item whose ID belongs to no slot. */
  readonly slot: number | undefined;
  readonly changes: Change[];
}

/** What the changes up to a time come to. */
export interface Overlaid {
  /** Undefined: as the item would be by itself. */
  readonly present: boolean | undefined;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
  /** Whole text of an inserted item. */
  readonly source: string | undefined;
  /** When its fields last changed (going and coming back change none); -Infinity: never. */
  readonly changedAt: number;
}

const UNTOUCHED: Overlaid = {
  present: undefined,
  fields: undefined,
  source: undefined,
  changedAt: -Infinity,
};

/** All that was done to the items of one population. Memory: one entry an item touched. */
export class Overlay {
  readonly #bySlot = new Map<number, Entry>();
  readonly #byId = new Map<string, Entry>();
  /** Inserted items without a slot, by rank. */
  readonly #strangers: Entry[] = [];
  /** Moments of all changes, and of those that move `updated_at`, sorted. */
  readonly #moments: number[] = [];
  readonly #loud: number[] = [];
  #revision = 0;
  #onAdd: ((item: Pick<Entry, 'id' | 'slot' | 'rank'>, change: Change) => void) | undefined;

  /** Rises with every change: what was computed from the overlay is stale when it differs. */
  get revision(): number {
    return this.#revision;
  }

  get isEmpty(): boolean {
    return this.#byId.size === 0;
  }

  get strangers(): readonly Entry[] {
    return this.#strangers;
  }

  entries(): IterableIterator<Entry> {
    return this.#byId.values();
  }

  ofSlot(slot: number): Entry | undefined {
    return this.#bySlot.get(slot);
  }

  ofId(id: string): Entry | undefined {
    return this.#byId.get(id);
  }

  /** Calls `listener` for each change that is added from now on, just before it is. One listener. */
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
      if (item.slot === undefined) {
        this.#strangers.splice(
          firstAbove(this.#strangers, (stranger) => stranger.rank, item.rank),
          0,
          entry,
        );
      } else {
        this.#bySlot.set(item.slot, entry);
      }
    }
    entry.changes.splice(
      firstAbove(entry.changes, (earlier) => earlier.at, change.at),
      0,
      change,
    );
    insert(this.#moments, change.at);
    if (!change.silent) insert(this.#loud, change.at);
    this.#revision += 1;
  }

  /** What the changes of an entry come to at `time`. */
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

  /** Moment of the last change at or before `time`, silent ones aside; -Infinity where there is none. */
  lastMoment(time: number): number {
    return this.#loud[firstAbove(this.#loud, (moment) => moment, time) - 1] ?? -Infinity;
  }

  /** Moment of the first change after `time`; Infinity where there is none. */
  nextMoment(time: number): number {
    return this.#moments[firstAbove(this.#moments, (moment) => moment, time)] ?? Infinity;
  }
}

function insert(sorted: number[], moment: number): void {
  sorted.splice(
    firstAbove(sorted, (other) => other, moment),
    0,
    moment,
  );
}
