import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { brakeHolds } from './brake.ts';

describe('the brake', () => {
  it('lets ten rows go, whatever their share', () => {
    expect(brakeHolds({ doubted: 10, deleted: 0, live: 10 })).toBe(false);
    expect(brakeHolds({ doubted: 11, deleted: 0, live: 11 })).toBe(true);
    expect(brakeHolds({ doubted: 5, deleted: 5, live: 5 })).toBe(false);
    expect(brakeHolds({ doubted: 5, deleted: 6, live: 5 })).toBe(true);
  });

  it('holds beyond a fifth of what there was', () => {
    expect(brakeHolds({ doubted: 20, deleted: 0, live: 100 })).toBe(false);
    expect(brakeHolds({ doubted: 21, deleted: 0, live: 100 })).toBe(true);
    expect(brakeHolds({ doubted: 1, deleted: 20, live: 80 })).toBe(true);
    expect(brakeHolds({ doubted: 0, deleted: 0, live: 0 })).toBe(false);
  });

  it('judges the same while deletions are under way, part by part', () => {
    const count = fc.nat(10_000);
    fc.assert(
      fc.property(count, count, count, count, (doubted, deleted, more, part) => {
        const going = Math.min(part, doubted);
        const live = doubted + more;
        expect(brakeHolds({ doubted: doubted - going, deleted: deleted + going, live: live - going })).toBe(
          brakeHolds({ doubted, deleted, live }),
        );
      }),
    );
  });
});
