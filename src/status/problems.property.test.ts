import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PROBLEM_CAUSES } from './problem.ts';
import { type Finding, groupProblems } from './problems.ts';

const finding: fc.Arbitrary<Finding> = fc.record(
  {
    cause: fc.constantFrom(...PROBLEM_CAUSES.slice(0, 3)),
    what: fc.constantFrom('a', 'b'),
    since: fc.constantFrom(null, '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'),
    byItself: fc.constant('it passes'),
    remedy: fc.constantFrom(null, 'do'),
    where: fc.constantFrom('1/lists', '1', '2'),
    origin: fc.constantFrom('x', 'y'),
  },
  { requiredKeys: ['cause', 'what', 'byItself'] },
);

it('each finding is in one problem, each origin has one problem, and the worst comes first', () => {
  fc.assert(
    fc.property(fc.array(finding), (findings) => {
      const problems = groupProblems(findings);
      const origins = findings.map(({ cause, origin, what, remedy }) =>
        JSON.stringify([cause, origin ?? [what, remedy]]),
      );
      expect(problems).toHaveLength(new Set(origins).size);
      // Those of one cause stay in the order in which they were found.
      const place = (origin: string): number =>
        PROBLEM_CAUSES.indexOf((JSON.parse(origin) as [Finding['cause']])[0]);
      const worstFirst = [...new Set(origins)].toSorted((one, other) => place(one) - place(other));
      for (const [index, { cause, where, since }] of findings.entries()) {
        const problem = problems[worstFirst.indexOf(origins[index] ?? '')];
        expect(problem?.cause).toBe(cause);
        if (where !== undefined) expect(problem?.affects).toContain(where);
        if (typeof since === 'string') expect((problem?.since ?? '') <= since).toBe(true);
      }
      const affected = problems.reduce((sum, { affects }) => sum + affects.length, 0);
      expect(affected).toBeLessThanOrEqual(findings.length);
    }),
  );
});
