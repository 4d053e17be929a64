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
  /** Aborted: no further request; an answered page is still written. */
  readonly signal: AbortSignal;
  /** Requests after which the walk stops as by `signal`, if one of them led on; default: no bound. */
  readonly requests?: number;
  /** Who lifts the brake of deletions. */
  readonly accept?: Operator | false;
  /** A poll between two runs of its cron line: `sync_log` gets no row of it if it finds nothing. */
  readonly early?: boolean;
  /** Called at each page of a full walk except the last: true ends the walk as `reached`. */
  readonly enough?: (walk: FullWalk, memory: ScopeMemory) => Promise<boolean>;
  /** What else to store at the walk's end; called in the last step, with the memory after it. */
  readonly onEnd?: (end: End, ended: Ended) => Promise<StoredAtEnd>;
}

type Ended = Pick<WalkResult, 'walk' | 'seen'> & { readonly memory: ScopeMemory };

/** What to store at the end of a walk; `memory` in place of the one that the step left. */
type StoredAtEnd = AtEnd & { readonly memory?: ScopeMemory };

/** Result of a walk. `error`: it failed. An interrupted full walk is resumed at its checkpoint. */
export interface WalkResult {
  readonly outcome: End['outcome'] | 'interrupted' | 'parent-deleted';
  readonly error: Error | undefined;
  /** Status of a refusal that ended the walk. */
  readonly status: number | undefined;
  /** Its state at the end. */
  readonly walk: Walk;
  /** The first 50,000 keys that the walk read, empty for a full walk. Other rows may be read once more. */
  readonly seen: ReadonlySet<string>;
  readonly totals: ReadTotals;
  /** It suspects rows, which need a second proof. */
  readonly suspects: boolean;
  /** It proved items of a list gone, for `DeletionConfirmer.deleteProven` to delete. */
  readonly proven: boolean;
  /** Set if it read every item of the scope or enough of them (`WalkOptions.enough`). */
  readonly whole: ReadWhole | undefined;
}

/** A walk that read every item of its scope. */
export interface ReadWhole {
  /** Time of its first request, by the database's clock. */
  readonly began: Date;
  /** All rows that it did not see are proven absent, suspected or not in the mirror. */
  readonly conclusive: boolean;
  /** Missing rows came or changed too recently to be suspected: the next walk decides. */
  readonly overlooks: boolean;
  /** Nothing is suspected: the scope is complete as of its start, once the next proof confirms it. */
  readonly complete: boolean;
}

/** 404 or 410: the list is gone or the service is wrong; the list's own row decides. */
export function isUnknown(result: WalkResult): result is WalkResult & { readonly status: 404 | 410 } {
  return result.error !== undefined && (result.status === 404 || result.status === 410);
}

/** Outcome of reading a collection. With an `error` the mirror lacks something that it should have. */
export interface ReadOutcome {
  readonly error: Error | undefined;
  readonly totals: ReadTotals;
  /** A full walk is needed: the first one, or one in a list without a usable order. */
  readonly fullNeeded: boolean;
  /** Other collections that need a full walk because of this one. */
  readonly fullWalks: readonly CollectionName[];
  /** Collections with new suspects, which need a second reading. */
  readonly suspects: readonly CollectionName[];
  /** Rows that a full reading found missing without a second proof: they wait for the next one. */
  readonly unproven: number;
}

/** The outcome if there was nothing to read. */
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
