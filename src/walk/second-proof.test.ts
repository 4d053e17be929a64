import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isSecondProof } from './whole-walk.ts';

const gracePeriod = fc.integer({ min: 0, max: 600_000 });
const moment = fc.integer({ min: 0, max: 10_000_000 });
/** As a service writes its clock into a `Date`. */
const seconds = (at: number): number => Math.floor(at / 1000) * 1000;
const late = fc.nat(5_000);

it('a second proof is an honest answer that was asked for the grace period later, whatever the service’s clock is ahead', () => {
  const times = fc.tuple(moment, gracePeriod, moment, fc.integer(), late, late);
  fc.assert(
    fc.property(times, ([at, wait, more, ahead, first, second]) => {
      // Made before it was written; made after it was asked for.
      const servedAt = seconds(at - first + ahead);
      const sentAt = at + wait + more;
      const served = { date: seconds(sentAt + second + ahead), ageMs: 0 };
      expect(isSecondProof({ at, servedAt }, { sentAt, served }, wait)).toBe(true);
      expect(isSecondProof({ at }, { sentAt, served }, wait)).toBe(true);
      const undated = { ...served, date: undefined };
      expect(isSecondProof({ at, servedAt }, { sentAt, served: undated }, wait)).toBe(true);
      expect(isSecondProof({ at, servedAt }, { sentAt }, wait)).toBe(true);
    }),
  );
});

it('a second proof is none that was asked for sooner', () => {
  fc.assert(
    fc.property(moment, gracePeriod, fc.integer({ min: 1 }), (at, wait, early) => {
      expect(isSecondProof({ at }, { sentAt: at + wait - early }, wait)).toBe(false);
    }),
  );
});

it('a second proof is not one from a cache, nor the same copy again, however late', () => {
  const wait = fc.integer({ min: 1_000, max: 600_000 });
  fc.assert(
    fc.property(moment, wait, moment, fc.integer({ min: 1 }), (at, wait, more, ageMs) => {
      const servedAt = seconds(at);
      for (const served of [
        { date: servedAt + wait + 1_000, ageMs },
        { date: servedAt, ageMs: 0 },
        // A clock that went back.
        { date: servedAt - 1_000, ageMs: 0 },
      ]) {
        expect(isSecondProof({ at, servedAt }, { sentAt: at + wait + more, served }, wait)).toBe(false);
      }
    }),
  );
});
