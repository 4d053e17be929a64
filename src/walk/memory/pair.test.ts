import { describe, expect, it } from 'vitest';
import { NO_SUSPECTS, type SuspectedDeletion } from '../../model/absence.ts';
import { judgePair, type WholeWalk } from './pair.ts';

const GRACE_PERIOD = 60_000;
const FIRST: WholeWalk = { digest: 'a', began: 0, ended: 10_000 };
const SECOND: WholeWalk = { digest: 'a', began: 70_000, ended: 80_000 };
const MISSING = [{ key: '7', changedAt: -GRACE_PERIOD }];

function suspect(parts: Partial<SuspectedDeletion> = {}): SuspectedDeletion {
  return { key: '7', kind: 'pair', at: 10_000, proven: false, ...parts };
}

function judged(
  previous: WholeWalk | null,
  present: WholeWalk,
  suspects: readonly SuspectedDeletion[] = [],
  missing = MISSING,
): ReturnType<typeof judgePair> {
  return judgePair(previous, present, { missing, suspects, gracePeriodMs: GRACE_PERIOD });
}

describe('a pair of whole walks', () => {
  it('suspects what the first did not see, and proves it when the second reads the same', () => {
    expect(judged(null, FIRST).add).toEqual([{ key: '7', kind: 'pair' }]);
    expect(judged(FIRST, SECOND, [suspect()])).toEqual({ ...NO_SUSPECTS, prove: ['7'] });
  });

  it('proves nothing by a second walk that reads something else, or begins too soon', () => {
    expect(judged(FIRST, { ...SECOND, digest: 'b' }, [suspect()])).toEqual(NO_SUSPECTS);
    expect(judged(null, SECOND, [suspect()])).toEqual(NO_SUSPECTS);
    expect(judged(FIRST, { ...SECOND, began: 69_999 }, [suspect()])).toEqual(NO_SUSPECTS);
  });

  it('proves no row whose suspicion is younger than the grace period, none that was seen, none twice', () => {
    expect(judged(FIRST, SECOND, [suspect({ at: 10_001 })])).toEqual(NO_SUSPECTS);
    expect(judged(FIRST, SECOND, [suspect()], [])).toEqual(NO_SUSPECTS);
    expect(judged(FIRST, SECOND, [suspect({ proven: true })])).toEqual(NO_SUSPECTS);
  });

  it('leaves rows alone that came or changed less than the grace period before it began', () => {
    expect(judged(null, FIRST, [], [{ key: '7', changedAt: 1 - GRACE_PERIOD }])).toEqual(NO_SUSPECTS);
  });

  it('takes over a suspicion that waits for a proof which this walk would have given', () => {
    for (const kind of ['snapshot', 'interval', 'returned'] as const) {
      expect(judged(FIRST, SECOND, [suspect({ kind })]).add).toEqual([{ key: '7', kind: 'pair' }]);
    }
    const fresh = suspect({ kind: 'interval', at: SECOND.began + 1 });
    expect(judged(FIRST, SECOND, [fresh])).toEqual(NO_SUSPECTS);
  });
});
