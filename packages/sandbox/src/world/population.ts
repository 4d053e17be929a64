import { parseExact } from '../exact-json.ts';
import { fraction, mix } from '../hash.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { itemText } from './hostile.ts';
import type { IdForm } from './id-form.ts';
import { Overlay, type Change, type Entry, type Overlaid } from './overlay.ts';
import type { Permutation } from './permutation.ts';
import { Sequence, type SteadyRate } from './sequence.ts';

/** One item: a slot, or an inserted item without a slot. */
export type ItemRef = number | Entry;

/** One item of a population at one time: its fields are functions of this. */
export interface ItemSnapshot {
  /** Hash of the item: stable over its life. */
  readonly hash: number;
  /** Hash of its company, which other items may have, too. */
  readonly company: number;
  readonly slot: number;
  readonly createdAt: number;
  /** `created_at` as shown: with ties in the order `created`. */
  readonly shownCreatedAt: number;
  /** How often and when the item's score last changed by itself. */
  readonly scoreVersion: number;
  readonly scoredAt: number;
  /** When the item was last changed from outside (posts, the control API); -Infinity if never. */
  readonly changedAt: number;
  readonly time: number;
}

/** What distinguishes the items of one collection. */
export interface ItemKind {
  readonly keyField: string;
  /** Members of the item's JSON object without its ID. */
  members(snapshot: ItemSnapshot, options: SandboxOptions): string;
  updatedAt(snapshot: ItemSnapshot, options: SandboxOptions): number;
  /** What the order `score` sorts by; -1 for none. */
  score(snapshot: ItemSnapshot, options: SandboxOptions): number;
  /** First time after the snapshot at which a field changes by itself, without score changes. */
  nextChange(snapshot: ItemSnapshot, options: SandboxOptions): number;
}

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
    const { present } = this.overlaid(ref, time);
    return present ?? (typeof ref === 'number' && this.#existsByItself(ref, time));
  }

  /** The item as JSON text, as lists answer it at `time`. */
  text(ref: ItemRef, time: number): string {
    const overlaid = this.overlaid(ref, time);
    const text = overlaid.source ?? (typeof ref === 'number' ? this.#ownText(ref, time, overlaid.changedAt) : '{}');
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

  /** Changes an item from outside. */
  change(ref: ItemRef, change: Change): void {
    this.overlay.add(typeof ref === 'number' ? { id: this.idOf(ref), slot: ref, rank: ref } : ref, change);
  }

  /** The result of the item's changes from outside up to `time`. */
  overlaid(ref: ItemRef, time: number): Overlaid {
    return this.overlay.at(typeof ref === 'number' ? this.overlay.ofSlot(ref) : ref, time);
  }

  rankOf(ref: ItemRef): number {
    return typeof ref === 'number' ? ref : ref.rank;
  }

  updatedAt(ref: ItemRef, time: number): number {
    const overlaid = this.overlaid(ref, time);
    if (typeof ref !== 'number' || overlaid.source !== undefined) return overlaid.changedAt;
    return this.plan.kind.updatedAt(this.snapshot(ref, time, overlaid.changedAt), this.plan.options());
  }

  score(ref: ItemRef, time: number): number {
    const overlaid = this.overlaid(ref, time);
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

/** How many items of a population are visible. */
export function countVisible(population: Population, time: number): number {
  const { sequence, overlay } = population;
  let count = overlay.extras.filter((extra) => population.visible(extra, time)).length;
  for (let slot = sequence.size(time) - 1; slot >= 0; slot -= 1) if (population.visible(slot, time)) count += 1;
  return count;
}

/** When a population last changed: a creation, a vanishing, a score, the overlay. -Infinity: never since the epoch. */
export function lastChange(population: Population, time: number): number {
  const { plan, sequence, overlay, lateMs } = population;
  const vanished = Math.min(plan.initial, plan.vanishings.count(time));
  const scored = plan.permutation.size === 0 ? 0 : plan.scoreChanges.count(time);
  let last = Math.max(
    overlay.lastMoment(time),
    vanished > 0 ? plan.vanishings.at(vanished - 1) : -Infinity,
    scored > 0 ? plan.scoreChanges.at(scored - 1) : -Infinity,
  );
  for (let slot = sequence.size(time) - 1; slot >= plan.initial; slot -= 1) {
    const at = population.appearsAt(slot);
    if (at <= time) last = Math.max(last, at);
    // No earlier slot appeared later than `last`.
    if (population.createdAt(slot) + lateMs <= last) break;
  }
  return last;
}

/** Time of the next such change; Infinity where there is none. */
export function nextChange(population: Population, time: number): number {
  const { plan, sequence, overlay, lateMs } = population;
  let next = Math.min(
    plan.creations.next(time),
    plan.vanishings.next(time),
    plan.scoreChanges.next(time),
    overlay.nextMoment(time),
  );
  // Slots created so shortly before that they may not be visible yet.
  for (let slot = sequence.size(time) - 1; slot >= plan.initial; slot -= 1) {
    if (population.createdAt(slot) + lateMs <= time) break;
    const at = population.appearsAt(slot);
    if (at > time) next = Math.min(next, at);
  }
  return next;
}
