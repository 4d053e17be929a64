import type { CollectionName } from '../../model/collections.ts';
import { KeyRefused } from '../../model/errors.ts';
import type { WalkResult } from '../walk-run/walk-result.ts';
import { NO_TOTALS, type ReadTotals } from '../walk-run/walk-totals.ts';

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
