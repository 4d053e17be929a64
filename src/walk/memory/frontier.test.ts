import { describe, expect, it } from 'vitest';
import { advance, advanceByFull, OVERLAP, overlapLow, type Frontier } from './frontier.ts';

const MINUTE = 60_000;

/** A frontier that polls moved by 10 keys each minute from 0 on. */
function moved(minutes: number): Frontier {
  let frontier = advance('bigint', null, { key: '1000', at: 0, asOf: 0 });
  for (let minute = 1; minute <= minutes; minute += 1) {
    const at = minute * MINUTE;
    frontier = advance('bigint', frontier, { key: String(1000 + 10 * minute), at, asOf: at });
  }
  return frontier;
}

describe('the frontier', () => {
  it('never goes back', () => {
    const frontier = advance('bigint', moved(3), { key: '900', at: 4 * MINUTE, asOf: 4 * MINUTE });
    expect(frontier).toMatchObject({ key: '1030', asOf: 4 * MINUTE });
  });

  it('is moved by a full walk only where that saw further than the polls', () => {
    const old = moved(3);
    expect(advanceByFull('bigint', old, { key: '1020', at: 1, asOf: 0 })).toBe(old);
    expect(advanceByFull('bigint', old, { key: '1040', at: 4 * MINUTE, asOf: 0 }).key).toBe('1040');
  });

  it('overlaps to where it stood 10 minutes before the last poll began', () => {
    expect(overlapLow('bigint', moved(15), '1149')).toBe('1050');
  });

  it('overlaps so far also when the next poll comes hours later', () => {
    const late = advance('bigint', moved(15), { key: '2000', at: 500 * MINUTE, asOf: 500 * MINUTE });
    expect(overlapLow('bigint', late, '1999')).toBe('1150');
  });

  it('overlaps to the 200th known row where that is further, and to the end where there are fewer', () => {
    expect(overlapLow('bigint', moved(15), '700')).toBe('700');
    expect(overlapLow('bigint', moved(15), null)).toBeNull();
  });

  it('forgets marks once nothing new came for longer than the overlap', () => {
    const at = 15 * MINUTE + OVERLAP;
    const quiet = advance('bigint', moved(15), { key: '1150', at, asOf: at });
    expect(quiet.marks).toEqual([]);
    expect(overlapLow('bigint', quiet, '1150')).toBe('1150');
  });
});
