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
  /** Of these, what the lines of its other collections take. */
  readonly linesPerMinute: number;
  /** Of these, what polls between those lines' runs take. */
  readonly earlyPerMinute: number;
}

/**
 * How long (ms) one reading of all lists takes where that is longer than the line's interval: by as much are the
 * intervals of its lists stretched, on average; undefined: the line is kept.
 */
export function stretchedRun({
  requests,
  lineMs,
  perMinute,
  linesPerMinute,
  earlyPerMinute,
}: LineOfLists): number | undefined {
  // Polls between the lines' runs leave a share themselves (early-polls.ts).
  const most = Math.min(PLANNED_SHARE * perMinute, perMinute - earlyPerMinute);
  const left = Math.max(1, most - linesPerMinute);
  const ms = (requests / left) * 60_000;
  return ms > lineMs ? ms : undefined;
}
