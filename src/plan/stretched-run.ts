/** Share of the requests that readings at fixed intervals may take: hints and full walks need some, too. */
const PLANNED_SHARE = 0.8;

/** A cron line of lists, and what there is to spend on it. */
export interface LineOfLists {
  /** Requests of one reading of all lists. */
  readonly requests: number;
  /** How often (ms) the line reads them. */
  readonly lineMs: number;
  /** Requests a minute that the account has. */
  readonly perMinute: number;
  /** Of these, what polls of its other collections take, those between the lines' runs too. */
  readonly pollsPerMinute: number;
}

/**
 * How long (ms) one reading of all lists takes where that is longer than the line's interval: by as much are the
 * intervals of its lists stretched, on average; undefined: the line is kept.
 */
export function stretchedRun({
  requests,
  lineMs,
  perMinute,
  pollsPerMinute,
}: LineOfLists): number | undefined {
  const left = Math.max(1, PLANNED_SHARE * perMinute - pollsPerMinute);
  const ms = (requests / left) * 60_000;
  return ms > lineMs ? ms : undefined;
}
