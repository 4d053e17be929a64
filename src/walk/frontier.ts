/** How long after taking its ID a row may become visible (design 3, late commits): 10 minutes in milliseconds. */
export const OVERLAP = 600_000;

/**
 * Up to where the newest rows are known (design 3, "Frontier"). Newer rows have greater keys whichever way the list
 * runs, so that it is the same in both directions. The greatest known key would be wrong: an interrupted poll leaves
 * holes below it.
 */
export interface Frontier {
  readonly key: string;
  /** When the answer came that had it: its ID was taken before. */
  readonly at: number;
  /** When the walk that last reached it began: a row that became visible later may have been passed over. */
  readonly asOf: number;
  /** Earlier frontiers with their `at`, oldest first, a minute apart at least: as far back as the overlap needs. */
  readonly marks: readonly (readonly [at: number, key: string])[];
}

/** The rest of an interrupted poll. */
export interface OpenPart {
  /** Falling: first key of the poll's first page, which becomes the frontier once the rest is read. */
  readonly first: string;
  /** When that page was answered; rising: when the poll began. */
  readonly at: number;
  /** Last key read: the rest follows it. */
  readonly after: string;
  /** Falling: key at which the rest ends (null: the list's end). */
  readonly low: string | null;
}
