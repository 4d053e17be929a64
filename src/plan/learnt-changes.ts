/**
 * What readings of one scope have shown, the older the less it counts (docs/design/plan.md, "What is learnt"). Four
 * numbers in the scope's row: ten thousand lists are rows, and no memory.
 */
export interface LearntChanges {
  /** Rows that had come or changed, and those that a reading's last answer proved gone. */
  readonly changes: number;
  /** Of these, those that an event or the list's own row had announced. */
  readonly announced: number;
  /** Time (ms) over which they were counted. */
  readonly watchedMs: number;
  /** Pages of a reading. */
  readonly cost: number;
}

export const NOTHING_LEARNT: LearntChanges = { changes: 0, announced: 0, watchedMs: 0, cost: 1 };
