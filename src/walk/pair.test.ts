import { describe, expect, it } from 'vitest';
import { NO_SUSPECTS, type SuspectedDeletion } from '../model/absence.ts';
import { judgePair, type WholeWalk } from './whole-walk.ts';

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
      suspect === undefined
        ? []
        : [{ key: '7', kind: 'pair', at: 10_000, proven: false, ...suspect } as const];
    expect(judgePair(previous, present, { missing, suspects, gracePeriodMs: GRACE_PERIOD })).toEqual(change);
  });
});
