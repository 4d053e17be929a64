import type { SandboxOptions } from '../../switches/sandbox-switches.ts';

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
