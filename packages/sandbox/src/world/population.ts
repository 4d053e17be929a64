import { parseExact } from '../exact-json.ts';
import { fraction, mix } from '../hash.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { itemText } from './hostile.ts';
import type { IdForm } from './id-form.ts';
import type { ItemKind, ItemSnapshot } from './item-kinds.ts';
import { Overlay, type Entry } from './overlay.ts';
import type { SteadyRate } from './steady-rate.ts';
import type { Permutation } from './permutation.ts';
import { Sequence } from './sequence.ts';

/** One item: a slot, or an inserted item without a slot. */
export type ItemRef = number | Entry;

/** The input from which a population is computed. */
export interface PopulationPlan {
  /** `42/list_items/7`: user, collection, parent. */
  readonly name: string;
  readonly kind: ItemKind;
  readonly ids: IdForm;
  readonly salt: number;
  /** All initial items were created before this time; the rates count from it. */
  readonly since: number;
  readonly initial: number;
  readonly initialCreatedAt: (slot: number) => number;
  readonly creations: SteadyRate;
  readonly vanishings: SteadyRate;
  readonly scoreChanges: SteadyRate;
  /** Which initial item each vanishing takes, and which items (modulo its size) each score change touches. */
  readonly permutation: Permutation;
  readonly hashOf: (slot: number) => number;
  /** Hash of the item's company. */
  readonly companyOf: (slot: number) => number;
  readonly options: () => SandboxOptions;
}

/** So many neighbours share their time of creation in the order `created`. */
export const TIE_SIZE = 4;

/**
 * The items of one scope (a collection of a user, or one list): pure functions of slot and time, with an overlay of
 * changes from outside. Only posts and the overlay are stored.
 */
export class Population {
  readonly plan: PopulationPlan;
  readonly sequence: Sequence;
  readonly overlay = new Overlay();

  constructor(plan: PopulationPlan) {
    this.plan = plan;
    this.sequence = new Sequence(plan.initial, plan.creations);
  }

  createdAt(slot: number): number {
    return slot < this.plan.initial ? this.plan.initialCreatedAt(slot) : this.sequence.creation(slot).at;
  }

  /** When the item becomes visible: some creations are committed late. */
  appearsAt(slot: number): number {
    const createdAt = this.createdAt(slot);
    const { lateShare } = this.plan.options();
    if (lateShare === 0 || slot < this.plan.initial) return createdAt;
    if (this.sequence.creation(slot).isPost) return createdAt;
    const hash = mix(this.plan.salt + 61, slot);
    if (fraction(hash) >= lateShare) return createdAt;
    return createdAt + Math.ceil(fraction(mix(hash, 62)) * this.lateMs);
  }

  vanishesAt(slot: number): number {
    const { permutation, vanishings, initial } = this.plan;
    return slot < initial ? vanishings.at(permutation.firstTurnOf(slot)) : Infinity;
  }

  visible(ref: ItemRef, time: number): boolean {
    if (typeof ref !== 'number') return this.overlay.at(ref, time).present === true;
    if (ref < 0) return false;
    const present = this.overlay.isEmpty
      ? undefined
      : this.overlay.at(this.overlay.ofSlot(ref), time).present;
    return present ?? this.#existsByItself(ref, time);
  }

  /** The item as JSON text, as lists answer it at `time`. */
  text(ref: ItemRef, time: number): string {
    const entry = typeof ref === 'number' ? this.overlay.ofSlot(ref) : ref;
    const overlaid = this.overlay.at(entry, time);
    const text =
      overlaid.source ?? (typeof ref === 'number' ? this.#ownText(ref, time, overlaid.changedAt) : '{}');
    if (overlaid.fields === undefined) return text;
    return JSON.stringify({ ...(parseExact(text) as object), ...overlaid.fields });
  }

  idOf(ref: ItemRef): string {
    return typeof ref === 'number' ? unquoted(this.plan.ids.json(ref)) : ref.id;
  }

  /** The item with this ID, whether it is visible or not; undefined where there never was one. */
  find(id: string, time: number): ItemRef | undefined {
    const entry = this.overlay.ofId(id);
    if (entry !== undefined) return entry.slot ?? entry;
    const slot = this.plan.ids.slotOf(id);
    return slot !== undefined && slot < this.sequence.size(time) ? slot : undefined;
  }

  /** The item with this ID; undefined where it is not visible. */
  findVisible(id: string, time: number): ItemRef | undefined {
    const ref = this.find(id, time);
    return ref !== undefined && this.visible(ref, time) ? ref : undefined;
  }

  rankOf(ref: ItemRef): number {
    return typeof ref === 'number' ? ref : ref.rank;
  }

  updatedAt(ref: ItemRef, time: number): number {
    const overlaid = this.overlay.at(typeof ref === 'number' ? this.overlay.ofSlot(ref) : ref, time);
    if (typeof ref !== 'number' || overlaid.source !== undefined) return overlaid.changedAt;
    return this.plan.kind.updatedAt(this.snapshot(ref, time, overlaid.changedAt), this.plan.options());
  }

  score(ref: ItemRef, time: number): number {
    const overlaid = this.overlay.at(typeof ref === 'number' ? this.overlay.ofSlot(ref) : ref, time);
    if (overlaid.source !== undefined || overlaid.fields !== undefined) {
      const { score } = JSON.parse(this.text(ref, time)) as { score?: unknown };
      return typeof score === 'number' ? score : -1;
    }
    if (typeof ref !== 'number') return -1;
    return this.plan.kind.score(this.snapshot(ref, time, overlaid.changedAt), this.plan.options());
  }

  snapshot(slot: number, time: number, changedAt: number): ItemSnapshot {
    const createdAt = this.createdAt(slot);
    const shownCreatedAt =
      this.plan.options().order === 'created' ? this.createdAt(slot - (slot % TIE_SIZE)) : createdAt;
    const { scoreChanges, permutation } = this.plan;
    let [scoreVersion, scoredAt] = [0, -Infinity];
    const turns = permutation.size === 0 ? 0 : scoreChanges.count(time);
    if (turns > 0) {
      const first = permutation.firstTurnOf(slot);
      if (turns > first) {
        scoreVersion = Math.floor((turns - 1 - first) / permutation.size) + 1;
        scoredAt = scoreChanges.at(first + (scoreVersion - 1) * permutation.size);
      }
    }
    return {
      hash: this.plan.hashOf(slot),
      company: this.plan.companyOf(slot),
      slot,
      createdAt,
      shownCreatedAt,
      scoreVersion,
      scoredAt,
      changedAt,
      time,
    };
  }

  /** Greatest delay of a late commit, milliseconds. */
  get lateMs(): number {
    const options = this.plan.options();
    return options.lateShare === 0 ? 0 : options.lateSeconds * 1000;
  }

  /** Whether the item would be visible without changes from outside. */
  #existsByItself(slot: number, time: number): boolean {
    if (slot < this.plan.initial) {
      return (time >= this.plan.since || this.createdAt(slot) <= time) && this.vanishesAt(slot) > time;
    }
    return slot < this.sequence.size(time) && this.appearsAt(slot) <= time && !this.#isTaken(slot);
  }

  /** True where an extra item took the slot's ID before: no ID exists twice. */
  #isTaken(slot: number): boolean {
    if (this.overlay.extras.length === 0) return false;
    const holder = this.overlay.ofId(this.idOf(slot));
    return holder !== undefined && holder.slot === undefined;
  }

  #ownText(slot: number, time: number, changedAt: number): string {
    const { kind, ids, options } = this.plan;
    const settings = options();
    const snapshot = this.snapshot(slot, time, changedAt);
    const members = kind.members(snapshot, settings);
    return itemText(kind.keyField, ids.json(slot), members, snapshot.hash, settings);
  }
}

function unquoted(json: string): string {
  return json.startsWith('"') ? json.slice(1, -1) : json;
}
