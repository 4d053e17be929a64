import { expect, it } from 'vitest';
import { sourceFiles } from './support/rules/source-files.ts';

// `toMatchObject` compares own properties: a regular expression and `{}` have none, so that anything matches them.
it('a test expects nothing inside `toMatchObject` that any value matches', () => {
  const files = [...sourceFiles('src'), ...sourceFiles('packages'), ...sourceFiles('test')];
  const all = files.flatMap(({ path, text }) => expectations(text).map((argument) => ({ path, argument })));
  expect(all.length).toBeGreaterThan(100);
  const empty = all.filter(({ argument }) => /:\s+(?:\/(?![/*])|\{\s*\})/.test(argument));
  expect(empty).toEqual([]);
});

/** What stands between the parentheses of each `toMatchObject(…)`. */
function expectations(text: string): string[] {
  return text
    .split('.toMatchObject(')
    .slice(1)
    .map((rest) => {
      let depth = 1;
      for (const { 0: parenthesis, index } of rest.matchAll(/[()]/g)) {
        depth += parenthesis === '(' ? 1 : -1;
        if (depth === 0) return rest.slice(0, index);
      }
      return rest;
    });
}
