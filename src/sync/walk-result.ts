import type { AtEnd } from '../mirror/page-record.ts';
import type { CollectionName, ListCollection } from '../model/collections.ts';
import { KeyRefused } from '../model/errors.ts';
import { NO_TOTALS, type ReadTotals } from '../model/sync-events.ts';
import type { Operator } from '../postgres/operator-log.ts';
import type { Priority } from '../service/rate-groups.ts';
import type { ScopeMemory } from '../walk/memory.ts';
import type { End, FullWalk, Walk } from '../walk/walk.ts';

export interface WalkOptions {
  readonly collection: ListCollection;
  readonly priority: Priority;
  /** Aborted: no further request; the page that has come is still written. */
  readonly signal: AbortSignal;
  /** After so many requests, at least one of which led on, the walk stops, as by `signal`; default: never. */
  readonly requests?: number;
  /** Who lifts the brake of deletions. */
  readonly accept?: Operator | false;
  /** A poll between its cron line's runs: where it finds nothing, `sync_log` has no row of it. */
  readonly early?: boolean;
  /** Asked at each page of a full walk but the last: true ends it there, as `reached`. */
  readonly enough?: (walk: FullWalk, memory: ScopeMemory) => Promise<boolean>;
  /** What else to store when the walk ends; asked in the step that ends it, with the memory that the step left. */
  readonly onEnd?: (end: End, ended: Ended) => Promise<StoredAtEnd>;
}

type Ended = Pick<WalkResult, 'walk' | 'seen'> & { readonly memory: ScopeMemory };

/** What to store at the end of a walk; `memory` in place of the one that the step left. */
type StoredAtEnd = AtEnd & { readonly memory?: ScopeMemory };

/** How a walk ended. `error` is given when it failed; an interrupted full walk is resumed at its checkpoint. */
export interface WalkResult {
  readonly outcome: End['outcome'] | 'interrupted' | 'parent-deleted';
  readonly error: Error | undefined;
  /** Status of the refusal that ended the walk. */
  readonly status: number | undefined;
  /** Its state at the end. */
  readonly walk: Walk;
  /**
   * The first 50,000 keys that the walk read; none of a full walk. A row that is not among them may be read once more.
   */
  readonly seen: ReadonlySet<string>;
  readonly totals: ReadTotals;
  /** It suspects rows: a second proof has to come. */
  readonly suspects: boolean;
  /** It proved items of a list gone: `DeletionConfirmer.deleteProven` deletes them. */
  readonly proven: boolean;
  /** Given where it read every item of the scope, or enough of them (`WalkOptions.enough`). */
  readonly whole: ReadWhole | undefined;
}

/** A walk that read every item of its scope. */
export interface ReadWhole {
  /** When its first request was sent, by the database's clock. */
  readonly began: Date;
  /** All rows that it did not see are proven absent, suspected, or not in the mirror. */
  readonly conclusive: boolean;
  /** Rows are missing that came or changed too lately to be suspected: the next walk decides. */
  readonly overlooks: boolean;
  /** Nothing is suspected: everything is mirrored as of its beginning, once the next proof confirms it. */
  readonly complete: boolean;
}

/** 404 and 410: the list is gone, or the service is confused; its row among the lists decides. */
export function isUnknown(result: WalkResult): result is WalkResult & { readonly status: 404 | 410 } {
  return result.error !== undefined && (result.status === 404 || result.status === 410);
}

/** How a collection was read. With an `error` the mirror lacks something that it should have now. */
export interface ReadOutcome {
  readonly error: Error | undefined;
  readonly totals: ReadTotals;
  /** Only a full walk can do the work: the first one, or one in a list without usable order. */
  readonly fullNeeded: boolean;
  /** Other collections that need a full walk, because of what this one found. */
  readonly fullWalks: readonly CollectionName[];
  /** Collections with new suspects, which need a second reading. */
  readonly suspects: readonly CollectionName[];
  /** Rows that a full reading found missing, and that no second one has confirmed: they wait for the next. */
  readonly unproven: number;
}

/** Nothing was to be read. */
export const NOTHING: ReadOutcome = {
  error: undefined,
  totals: NO_TOTALS,
  fullNeeded: false,
  fullWalks: [],
  suspects: [],
  unproven: 0,
};

/** @throws KeyRefused: the account can't go on */
export function readOutcomeOf(name: CollectionName, { error, totals, suspects }: WalkResult): ReadOutcome {
  if (error instanceof KeyRefused) throw error;
  return { ...NOTHING, error, totals, suspects: suspects ? [name] : [] };
}
