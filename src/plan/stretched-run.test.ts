import { describe, expect, it } from 'vitest';
import { stretchedRun } from './stretched-run.ts';

const line = { lineMs: 60_000, perMinute: 48, linesPerMinute: 5, earlyPerMinute: 0 };

describe('a cron line of lists', () => {
  it('is kept as long as four fifths of the requests suffice, beside the other polls', () => {
    expect(stretchedRun({ ...line, requests: 33 })).toBeUndefined();
    expect(stretchedRun({ ...line, requests: 34 })).toBeGreaterThan(60_000);
    expect(stretchedRun({ ...line, requests: 1_000, lineMs: 3_600_000 })).toBeUndefined();
    // Polls between the lines' runs take nothing of what lists need.
    expect(stretchedRun({ ...line, requests: 10, earlyPerMinute: 32 })).toBeUndefined();
  });

  it('is stretched to as long as one reading of all takes', () => {
    expect((stretchedRun({ ...line, requests: 5_010 }) ?? 0) / 3_600_000).toBeCloseTo(2.5, 5);
    expect(stretchedRun({ ...line, requests: 10, perMinute: 1 })).toBe(600_000);
    expect(stretchedRun({ ...line, requests: 50, earlyPerMinute: 33 })).toBe(300_000);
  });
});
