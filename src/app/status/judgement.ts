/** What is to be said of a mirror's state, one sentence each. */
export interface HealthJudgement {
  /** What is wrong, with its remedy, the worst first. */
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}
