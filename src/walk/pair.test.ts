import { describe, expect, it } from 'vitest';
import { NO_SUSPECTS, type SuspectedDeletion } from '../model/absence.ts';
import { judgePair, type WholeWalk, isSecondProof } from './whole-walk.ts';
import fc from 'fast-check';

const GRACE_PERIOD = 60_000;
const FIRST: WholeWalk = { digest: 'a', began: 0, ended: 10_000 };
const SECOND: WholeWalk = { digest: 'a', began: 70_000, ended: 80_000 };
const MISSING = [{ key: '7', changedAt: -GRACE_PERIOD }];
const ADDED = { ...NO_SUSPECTS, add: [{ key: '7', kind: 'pair' }] };
const PROVEN = { ...NO_SUSPECTS, prove: ['7'] };
const LATELY = [{ key: '7', changedAt: 1 - GRACE_PERIOD }];

type Walks = readonly [WholeWalk | null, WholeWalk];

describe('a pair of whole walks', () => {
  it.each<[string, object, Walks, (Partial<SuspectedDeletion> | undefined)?, typeof MISSING?]>([
    ['proves what the first did not see, when the second reads the same', PROVEN, [FIRST, SECOND], {}],
    ['nothing by one that reads something else', NO_SUSPECTS, [FIRST, { ...SECOND, digest: 'b' }], {}],
    ['nothing by one alone', NO_SUSPECTS, [null, SECOND], {}],
    ['nothing by one that begins too soon', NO_SUSPECTS, [FIRST, { ...SECOND, began: 69_999 }], {}],
    ['nothing younger than the grace period', NO_SUSPECTS, [FIRST, SECOND], { at: 10_001 }],
    ['nothing that was seen', NO_SUSPECTS, [FIRST, SECOND], {}, []],
    ['nothing twice', NO_SUSPECTS, [FIRST, SECOND], { proven: true }],
    ['suspects what the first did not see', ADDED, [null, FIRST]],
    ['no row that came or changed too lately', NO_SUSPECTS, [null, FIRST], undefined, LATELY],
    ['takes over a suspicion by a snapshot', ADDED, [FIRST, SECOND], { kind: 'snapshot' }],
    ['takes over a suspicion by an interval', ADDED, [FIRST, SECOND], { kind: 'interval' }],
    ['takes over a suspicion by a return', ADDED, [FIRST, SECOND], { kind: 'returned' }],
    ['not one that came meanwhile', NO_SUSPECTS, [FIRST, SECOND], { kind: 'interval', at: SECOND.began + 1 }],
  ])('%s', (_, change, [previous, present], suspect, missing = MISSING) => {
    const suspects =
      suspect === undefined ? [] : [{ key: '7', kind: 'pair', at: 10_000, proven: false, ...suspect } as const];
    expect(judgePair(previous, present, { missing, suspects, gracePeriodMs: GRACE_PERIOD })).toEqual(change);
  });
});

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
