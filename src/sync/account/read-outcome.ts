import type { CollectionName } from '../../model/collections.ts';
import { KeyRefused } from '../../model/errors.ts';
import type { WalkResult } from '../walk-run/walk-result.ts';
import { NO_TOTALS, type ReadTotals } from '../walk-run/walk-totals.ts';

/** How a collection was read. `error` is given when the mirror does not hold all that it should afterwards. */
export interface ReadOutcome {
  readonly error: Error | undefined;
  readonly totals: ReadTotals;
  /** A poll could not do the work: nothing but a full walk can (the first one, or for want of an order). */
  readonly fullNeeded: boolean;
  /** Other collections of which only a full walk can tell what this one found amiss. */
  readonly fullWalks: readonly CollectionName[];
  /** Collections of which rows came into doubt: `settle` them. */
  readonly suspects: readonly CollectionName[];
  /** Rows that a full reading found missing, and of which no second one told: they wait for the next. */
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
