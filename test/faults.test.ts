import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { FAULTS, occurrences } from './faults/faults.ts';
import { ROOT } from './support/rules/source-files.ts';

const text = (path: string): string => (existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), 'utf8') : '');

it('the faults of test/faults are four for each invariant', () => {
  const counts = Map.groupBy(FAULTS, ({ invariant }) => invariant);
  expect([...counts].map(([invariant, faults]) => [invariant, faults.length])).toEqual(
    Array.from({ length: 10 }, (_, index) => [index + 1, 4]),
  );
});

it.each(FAULTS)(
  'the faults of test/faults can still be planted, and the test that catches it is there: $fault',
  ({ file, find, caughtIn, test }) => {
    expect(occurrences(text(file), find), `${file} has ${find} not once`).toBe(1);
    expect(text(caughtIn), `${caughtIn} has no such test`).toContain(test);
  },
);
