/** What an attack found broken: one line each. */
export interface Finding {
  /**
   * - `lost`: the mirror lacks what the source has, or has it otherwise
   * - `false`: a row was deleted that was there at each moment of its second proof
   * - `twice`: a version is there twice, or two versions overlap
   * - `history`: the history does not replay to what was read
   * - `claim`: anything else that the documents claim
   */
  readonly kind: FindingKind;
  readonly text: string;
}

export const FINDING_KINDS = ['lost', 'false', 'twice', 'history', 'claim'] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/** What came of one game of an attack: one account, one walk of trials, reproducible by its seed. */
export interface GameResult {
  readonly seed: number;
  /** What was drawn, in a line. */
  readonly what: string;
  readonly findings: readonly Finding[];
  /** What was counted: walks, kills, requests … */
  readonly counts: Readonly<Record<string, number>>;
  /** What happened, in order; for whoever has to understand a finding. */
  readonly trace: readonly string[];
}

/** Adds figures by name. */
export function addCounts(into: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) into[name] = (into[name] ?? 0) + count;
}
