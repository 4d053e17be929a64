import type { ScopeSession } from './scope-session.ts';
import type { ReadWhole } from './walk-proofs.ts';
import type { CollectionName, ListCollection } from '../model/collections.ts';
import { KeyRefused } from '../model/errors.ts';
import { addTotals, type CollectionChange, NO_TOTALS, type ReadTotals } from '../model/sync-events.ts';
import type { Operator } from '../postgres/operator-log.ts';
import type { Priority } from '../service/rate-groups.ts';
import type { End, Walk } from '../walk/walk.ts';
import type { ReadingContext } from './reading-context.ts';

/** What every walk of one reading of a scope is given. */
export interface ScopeReading {
  readonly context: ReadingContext;
  readonly session: ScopeSession;
  readonly collection: ListCollection;
  readonly priority: Priority;
  /** Aborted: no further request; an answered page is still written. */
  readonly signal: AbortSignal;
  /** Requests after which a walk stops as by `signal`, if one of them led on; default: no bound. */
  readonly requests?: number;
  /** Who lifts the brake of deletions. */
  readonly accept?: Operator | false;
  /** A poll between two runs of its cron line: `sync_log` gets no row of it if it finds nothing. */
  readonly early?: boolean;
  /** What `freshness` says after the reading; left out for one list among many. */
  readonly onRead?: ((asOf: Date, began: Date) => CollectionChange) | undefined;
  /** The same if only the rest of an interrupted walk was read; default: `onRead`. */
  readonly onRest?: ScopeReading['onRead'];
}

/** Result of a walk. An interrupted full walk is resumed at its checkpoint. */
export interface WalkResult {
  readonly outcome: End['outcome'] | 'interrupted' | 'parent-deleted';
  /** Set if the walk failed. */
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
  /** Set if it read every item of the scope, or enough of them (`runWalk`). */
  readonly whole: ReadWhole | undefined;
}

/** 404 or 410: the list is gone, or the service is wrong. The list's own row decides. */
export function isUnknown(result: WalkResult): result is WalkResult & { readonly status: 404 | 410 } {
  return result.error !== undefined && (result.status === 404 || result.status === 410);
}

/** Outcome of reading a collection. */
export type ReadOutcome = Readonly<typeof EMPTY_OUTCOME>;

/** The outcome if there was nothing to read. */
export const EMPTY_OUTCOME = {
  /** Set if the mirror lacks something that it should have. */
  error: undefined as Error | undefined,
  totals: NO_TOTALS,
  /** A full walk is needed: the first one, or one in a list without a usable order. */
  fullNeeded: false,
  /** Other collections that need a full walk because of this one. */
  fullWalks: [] as readonly CollectionName[],
  /** Collections with new suspects, which need a second reading. */
  suspects: [] as readonly CollectionName[],
  /** Rows that a full reading found missing without a second proof: they wait for the next one. */
  unproven: 0,
};

/** The outcome of two readings: the first error, the work of both. */
export function joinOutcomes(first: ReadOutcome, then: ReadOutcome): ReadOutcome {
  return {
    error: first.error ?? then.error,
    totals: addTotals(first.totals, then.totals),
    fullNeeded: first.fullNeeded || then.fullNeeded,
    fullWalks: [...new Set([...first.fullWalks, ...then.fullWalks])],
    suspects: [...new Set([...first.suspects, ...then.suspects])],
    unproven: first.unproven + then.unproven,
  };
}

/** @throws KeyRefused: the account can't go on */
export function readOutcomeOf(name: CollectionName, { error, totals, suspects }: WalkResult): ReadOutcome {
  if (error instanceof KeyRefused) throw error;
  return { ...EMPTY_OUTCOME, error, totals, suspects: suspects ? [name] : [] };
}
