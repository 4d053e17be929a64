import { describe, expect, it } from 'vitest';
import { stretchedRun } from './stretched-run.ts';

const line = { lineMs: 60_000, perMinute: 48, pollsPerMinute: 5 };

describe('a cron line of lists', () => {
  it('is kept as long as four fifths of the requests suffice, beside the other polls', () => {
    expect(stretchedRun({ ...line, requests: 33 })).toBeUndefined();
    expect(stretchedRun({ ...line, requests: 34 })).toBeGreaterThan(60_000);
    expect(stretchedRun({ ...line, requests: 1_000, lineMs: 3_600_000 })).toBeUndefined();
  });

  it('is stretched to as long as one reading of all takes', () => {
    expect((stretchedRun({ ...line, requests: 5_010 }) ?? 0) / 3_600_000).toBeCloseTo(2.5, 5);
    expect(stretchedRun({ ...line, requests: 10, perMinute: 1 })).toBe(600_000);
  });
});
