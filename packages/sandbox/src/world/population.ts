import { parseExact } from '../exact-json.ts';
import { fraction, mix } from '../hash.ts';
import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { itemText } from './hostile.ts';
import type { IdForm } from './id-form.ts';
import type { ItemKind, Subject } from './kinds/item-kind.ts';
import { Overlay, type Entry } from './overlay.ts';
import type { Pulse } from './pulse.ts';
import type { Rota } from './rota.ts';
import { Sequence } from './sequence.ts';

/** One item: a slot, or an inserted item that belongs to none. */
export type Ref = number | Entry;

/** What a population is a function of. */
export interface PopulationPlan {
  /** `42/list_items/7`: user, collection, parent. */
  readonly name: string;
  readonly kind: ItemKind;
  readonly ids: IdForm;
  readonly salt: number;
  /** Moment before which all initial items were created, and from which rates count. */
  readonly since: number;
  readonly initial: number;
  readonly initialCreatedAt: (slot: number) => number;
  readonly births: Pulse;
  readonly vanishings: Pulse;
  readonly scorings: Pulse;
  /** Which initial item each vanishing takes, and which items (modulo its size) each score change touches. */
  readonly rota: Rota;
  readonly hashOf: (slot: number) => number;
  readonly options: () => SandboxOptions;
}

/** In the order `created`, so many neighbours share their time of creation. */
export const TIE_SIZE = 4;

/**
 * The items of one scope (a collection of a user, or one list): pure functions of slot and time, with an overlay for
 * what was done to them. Nothing is stored but posts and the overlay.
 */
export class Population {
  readonly plan: PopulationPlan;
  readonly sequence: Sequence;
  readonly overlay = new Overlay();

  constructor(plan: PopulationPlan) {
    this.plan = plan;
    this.sequence = new Sequence(plan.initial, plan.births);
  }

  createdAt(slot: number): number {
    const origin = this.sequence.origin(slot);
    switch (origin.kind) {
      case 'initial':
        return this.plan.initialCreatedAt(slot);
      case 'birth':
        return this.plan.births.at(origin.number);
      case 'post':
        return origin.at;
    }
  }

  /** When the item is first seen: some births are committed late. */
  appearsAt(slot: number): number {
    const createdAt = this.createdAt(slot);
    const { lateShare } = this.plan.options();
    if (lateShare === 0 || this.sequence.origin(slot).kind !== 'birth') return createdAt;
    const hash = mix(this.plan.salt + 61, slot);
    if (fraction(hash) >= lateShare) return createdAt;
    return createdAt + Math.ceil(fraction(mix(hash, 62)) * this.lateMs);
  }

  vanishesAt(slot: number): number {
    const { rota, vanishings, initial } = this.plan;
    return slot < initial ? vanishings.at(rota.turnOf(slot)) : Infinity;
  }

  visible(ref: Ref, time: number): boolean {
    if (typeof ref !== 'number') return this.overlay.at(ref, time).present === true;
    if (ref < 0) return false;
    const present = this.overlay.isEmpty
      ? undefined
      : this.overlay.at(this.overlay.ofSlot(ref), time).present;
    return present ?? this.lives(ref, time);
  }

  /** The item as JSON text, as lists answer it at `time`. */
  text(ref: Ref, time: number): string {
    const entry = typeof ref === 'number' ? this.overlay.ofSlot(ref) : ref;
    const overlaid = this.overlay.at(entry, time);
    const text =
      overlaid.source ?? (typeof ref === 'number' ? this.#ownText(ref, time, overlaid.changedAt) : '{}');
    if (overlaid.fields === undefined) return text;
    return JSON.stringify({ ...(parseExact(text) as object), ...overlaid.fields });
  }

  idOf(ref: Ref): string {
    return typeof ref === 'number' ? unquoted(this.plan.ids.json(ref)) : ref.id;
  }

  /** The item with this ID, whether it is visible or not; undefined where there never was one. */
  find(id: string, time: number): Ref | undefined {
    const entry = this.overlay.ofId(id);
    if (entry !== undefined) return entry.slot ?? entry;
    const slot = this.plan.ids.slotOf(id);
    return slot !== undefined && slot < this.sequence.size(time) ? slot : undefined;
  }

  rankOf(ref: Ref): number {
    return typeof ref === 'number' ? ref : ref.rank;
  }

  updatedAt(ref: Ref, time: number): number {
    const overlaid = this.overlay.at(typeof ref === 'number' ? this.overlay.ofSlot(ref) : ref, time);
    if (typeof ref !== 'number' || overlaid.source !== undefined) return overlaid.changedAt;
    return this.plan.kind.updatedAt(this.subject(ref, time, overlaid.changedAt), this.plan.options());
  }

  score(ref: Ref, time: number): number {
    const overlaid = this.overlay.at(typeof ref === 'number' ? this.overlay.ofSlot(ref) : ref, time);
    if (overlaid.source !== undefined || overlaid.fields !== undefined) {
      const { score } = JSON.parse(this.text(ref, time)) as { score?: unknown };
      return typeof score === 'number' ? score : -1;
    }
    if (typeof ref !== 'number') return -1;
    return this.plan.kind.score(this.subject(ref, time, overlaid.changedAt), this.plan.options());
  }

  subject(slot: number, time: number, changedAt: number): Subject {
    const createdAt = this.createdAt(slot);
    const shownCreatedAt =
      this.plan.options().order === 'created' ? this.createdAt(slot - (slot % TIE_SIZE)) : createdAt;
    const { scorings, rota } = this.plan;
    let [scoreVersion, scoredAt] = [0, -Infinity];
    const turns = rota.size === 0 ? 0 : scorings.count(time);
    if (turns > 0) {
      const first = rota.turnOf(slot);
      if (turns > first) {
        scoreVersion = Math.floor((turns - 1 - first) / rota.size) + 1;
        scoredAt = scorings.at(first + (scoreVersion - 1) * rota.size);
      }
    }
    return {
      hash: this.plan.hashOf(slot),
      slot,
      createdAt,
      shownCreatedAt,
      scoreVersion,
      scoredAt,
      changedAt,
      time,
    };
  }

  /** Most milliseconds by which an item may be committed late. */
  get lateMs(): number {
    const options = this.plan.options();
    return options.lateShare === 0 ? 0 : options.lateSeconds * 1000;
  }

  /** Whether the item would be visible if nothing had been done to it. */
  lives(slot: number, time: number): boolean {
    if (slot < this.plan.initial) {
      return (time >= this.plan.since || this.createdAt(slot) <= time) && this.vanishesAt(slot) > time;
    }
    return slot < this.sequence.size(time) && this.appearsAt(slot) <= time && !this.#isTaken(slot);
  }

  /** True where an inserted item took the ID before the slot was born: no ID is there twice. */
  #isTaken(slot: number): boolean {
    if (this.overlay.strangers.length === 0) return false;
    const holder = this.overlay.ofId(this.idOf(slot));
    return holder !== undefined && holder.slot === undefined;
  }

  #ownText(slot: number, time: number, changedAt: number): string {
    const { kind, ids, options } = this.plan;
    const settings = options();
    const subject = this.subject(slot, time, changedAt);
    const members = kind.members(subject, settings);
    return itemText(kind.keyField, ids.json(slot), members, subject.hash, settings);
  }
}

function unquoted(json: string): string {
  return json.startsWith('"') ? json.slice(1, -1) : json;
}
