import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../test/support/effort.ts';
import { judgeClock, keyPlaces } from './check-service.ts';
import { clockSkew } from './check.ts';

describe('clockSkew', () => {
  it('never exceeds the true difference, whatever the network and the resolution do', () => {
    const time = fc.integer({ min: 0, max: 60_000 });
    fc.assert(
      fc.property(fc.integer({ min: -1e7, max: 1e7 }), time, time, (ahead, there, back) => {
        const askedAt = 1_790_000_000_000;
        const exactly = askedAt + there + ahead;
        const said = Math.floor(exactly / 1_000) * 1_000;
        const skew = clockSkew(said, 1_000, askedAt, askedAt + there + back);
        expect(Math.abs(skew)).toBeLessThanOrEqual(Math.abs(ahead));
        if (skew !== 0) expect(Math.sign(skew)).toBe(Math.sign(ahead));
        if (Math.abs(ahead) > there + back + 1_000) expect(skew).not.toBe(0);
      }),
      { numRuns: runs(200, 5_000) },
    );
  });

  it('is a warning from five seconds on', () => {
    expect(judgeClock('its clock', 4_999).state).toBe('ok');
    expect(judgeClock('its clock', 5_000)).toMatchObject({
      state: 'warning',
      found: "its clock is 5 s ahead of this machine's",
    });
    expect(judgeClock('its clock', -90_000).found).toBe("its clock is 90 s behind this machine's");
  });
});

it('a key is named by its place', () => {
  expect(keyPlaces([{ at: 12 }], 20)).toBe('the 13th of MIRROR_API_KEY');
  expect(keyPlaces([{ at: 0 }], 1)).toBe('the key in MIRROR_API_KEY');
  expect(keyPlaces([{ at: 0 }, { at: 2 }, { at: 12 }], 20)).toBe('the 1st, 3rd and 13th of MIRROR_API_KEY');
});
