import type { Problem } from '../../model/status/problem.ts';

/** One thing that is wrong, in one place. */
export interface FoundProblem extends Omit<Problem, 'affects' | 'since' | 'remedy'> {
  readonly since?: Problem['since'] | undefined;
  readonly remedy?: Problem['remedy'] | undefined;
  /** `42`, `42/lists`; undefined: the whole mirror. */
  readonly where?: string;
  /** Findings of the same cause and key have one origin, whatever else they say; without it: those that say the same. */
  readonly origin?: string;
}

/**
 * One problem for each origin, in the order in which they were found: it says what its first finding says, affects
 * whatever any of them does, and began with the earliest.
 */
export function groupProblems(findings: readonly FoundProblem[]): Problem[] {
  const byOrigin = Map.groupBy(findings, ({ cause, origin, what, remedy }) =>
    JSON.stringify([cause, origin ?? [what, remedy]]),
  );
  return [...byOrigin.values()].map((group) => {
    const [{ cause, what, byItself, remedy = null }] = group as [FoundProblem, ...FoundProblem[]];
    const affects = [...new Set(group.flatMap(({ where }) => where ?? []))];
    const [since = null] = group.flatMap((each) => each.since ?? []).toSorted();
    return { cause, what, since, affects, byItself, remedy };
  });
}
