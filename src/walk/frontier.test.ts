import { expect, it } from 'vitest';
import { advance, advanceByFull, OVERLAP, overlapLow, type Frontier } from './frontier.ts';

const MINUTE = 60_000;

const to = (frontier: Frontier | null, key: number, at: number): Frontier =>
  advance('bigint', frontier, { key: String(key), at, asOf: at });

/** A frontier that polls moved by 10 keys each minute from 0 on. */
function moved(minutes: number): Frontier {
  let frontier = to(null, 1000, 0);
  for (let minute = 1; minute <= minutes; minute += 1) frontier = to(frontier, 1000 + 10 * minute, minute * MINUTE);
  return frontier;
}

it('the frontier never goes back', () => {
  expect(to(moved(3), 900, 4 * MINUTE)).toMatchObject({ key: '1030', asOf: 4 * MINUTE });
});

it('the frontier is moved by a full walk only where that saw further than the polls', () => {
  const old = moved(3);
  expect(advanceByFull('bigint', old, { key: '1020', at: 1, asOf: 0 })).toBe(old);
  expect(advanceByFull('bigint', old, { key: '1040', at: 4 * MINUTE, asOf: 0 }).key).toBe('1040');
});

it.each<[string, Frontier, string | null, string | null]>([
  ['where it stood 10 minutes before the last poll', moved(15), '1149', '1050'],
  ['there also when the next poll comes hours later', to(moved(15), 2000, 500 * MINUTE), '1999', '1150'],
  ['the 200th known row where that is further', moved(15), '700', '700'],
  ['the end where there are fewer', moved(15), null, null],
])('the frontier overlaps to %s', (_, frontier, known, low) => {
  expect(overlapLow('bigint', frontier, known)).toBe(low);
});

it('the frontier forgets marks once nothing new came for longer than the overlap', () => {
  const quiet = to(moved(15), 1150, 15 * MINUTE + OVERLAP);
  expect(quiet.marks).toEqual([]);
  expect(overlapLow('bigint', quiet, '1150')).toBe('1150');
});
