import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatCount } from './figures.ts';

describe('a count', () => {
  it('is written as English does, of any size', () => {
    const any = fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -2_000_000, max: 2_000_000 }), fc.double());
    fc.assert(
      fc.property(any, (count) => {
        // Zero has no sign in a table.
        expect(formatCount(count)).toBe((count === 0 ? 0 : count).toLocaleString('en-US'));
      }),
    );
    expect(formatCount(-1_234_567)).toBe('-1,234,567');
  });
});
