import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../../test/support/effort.ts';
import { clockSkew, describeSkew } from './clock-skew.ts';

describe('clockSkew', () => {
  it('never says more than is true, whatever the network and the resolution do', () => {
    const time = fc.integer({ min: 0, max: 60_000 });
    fc.assert(
      fc.property(fc.integer({ min: -1e7, max: 1e7 }), time, time, (ahead, there, back) => {
        const askedAt = 1_790_000_000_000;
        const exactly = askedAt + there + ahead;
        const said = Math.floor(exactly / 1_000) * 1_000;
        const skew = clockSkew({ said, resolutionMs: 1_000, askedAt, answeredAt: askedAt + there + back });
        expect(Math.abs(skew)).toBeLessThanOrEqual(Math.abs(ahead));
        if (skew !== 0) expect(Math.sign(skew)).toBe(Math.sign(ahead));
        if (Math.abs(ahead) > there + back + 1_000) expect(skew).not.toBe(0);
      }),
      { numRuns: runs(200, 5_000) },
    );
  });

  it('is of concern from five seconds on', () => {
    expect(describeSkew('its clock', 4_999)).toBeUndefined();
    expect(describeSkew('its clock', 5_000)).toBe("its clock is 5 s ahead of this machine's");
    expect(describeSkew('its clock', -90_000)).toBe("its clock is 90 s behind this machine's");
  });
});
