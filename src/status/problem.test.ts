import { expect, it } from 'vitest';
import { type Problem, problemLine } from './problem.ts';

const problem: Problem = {
  cause: 'polls_late',
  what: 'polls are late',
  since: '2026-01-01T00:00:00.000Z',
  affects: ['1/lists'],
  byItself: 'nothing',
  remedy: 'research-mirror start',
};
const now = Date.parse('2026-01-01T00:10:00.000Z');

it('a problem’s line says what, where, since when, what happens by itself, and the remedy', () => {
  expect(problemLine(problem, now)).toBe(
    'polls are late; affects 1/lists; since 10 min ago; by itself: nothing; do: research-mirror start',
  );
  expect(problemLine({ ...problem, since: null, affects: [], remedy: null }, now)).toBe(
    'polls are late; by itself: nothing',
  );
});

it.each([
  [['1', '2', '3', '4'], '1, 2, 3, 4'],
  [['1', '2', '3', '4', '5'], '5 accounts'],
  [['1/a', '1/b', '1/c', '1/d', '1/e'], '5 collections of account 1'],
  [['1/a', '1/b', '2/a', '2/b', '3/a'], '5 collections of 3 accounts'],
])('a problem as one line counts what is too many to be named: %j', (affects, words) => {
  expect(problemLine({ ...problem, affects }, now)).toContain(`; affects ${words}; `);
});
