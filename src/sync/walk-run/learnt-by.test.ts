import { describe, expect, it } from 'vitest';
import { NO_ALARMS } from '../../plan/alarms.ts';
import { NOTHING_LEARNT } from '../../plan/learnt-changes.ts';
import type { Walk } from '../../walk/walk.ts';
import { PRIORITY } from '../../budget/priorities.ts';
import type { ScopeSession } from '../scope/scope-session.ts';
import { type Learning, learningOf, learntBy } from './learnt-by.ts';
import { addTotals, NO_TOTALS, type ReadTotals } from './walk-totals.ts';

const BEGAN = Date.UTC(2026, 0, 1);
const learning: Learning = {
  kind: 'collection',
  known: NOTHING_LEARNT,
  alarms: NO_ALARMS,
  readAt: new Date(BEGAN),
  isDue: false,
  hinted: false,
};
const totals = addTotals(NO_TOTALS, { pages: 2, requests: 7, inserted: 3, updated: 1, unchanged: 200 });

/** The reading ends with the walk. */
const over = (gone: number): Parameters<typeof learntBy>[3] => ({ gone, isOver: true });

const walk = (kind: Walk['kind'], began = BEGAN): Walk => ({ kind, began }) as Walk;

describe('what a walk teaches', () => {
  it('counts new and changed rows, and says which were announced', () => {
    expect(learntBy(learning, walk('poll'), totals, over(0)).learnt).toMatchObject({
      changes: 4,
      announced: 0,
      cost: 1.2,
    });
    const told = learntBy({ ...learning, isDue: true }, walk('poll'), totals, over(0));
    expect(told.learnt).toMatchObject({ changes: 4, announced: 4 });
  });

  it('is nothing at the first load: rows that come are no changes', () => {
    expect(learntBy({ ...learning, readAt: undefined }, walk('poll'), totals, over(0))).toEqual({});
  });

  it('is nothing of a collection’s full walk, whose changes no poll would find; of a list’s it is', () => {
    expect(learntBy(learning, walk('full'), totals, over(0))).toEqual({});
    expect(learntBy({ ...learning, kind: 'list' }, walk('full'), totals, over(0)).learnt?.changes).toBe(4);
  });

  it('adds a refresh to the cost of the poll before it', () => {
    const poll = learntBy(learning, walk('poll'), addTotals(NO_TOTALS, { pages: 1 }), over(0)).learnt;
    const both = learntBy(
      { ...learning, known: poll ?? NOTHING_LEARNT },
      walk('refresh'),
      totals,
      over(0),
    ).learnt;
    expect(both?.cost).toBeCloseTo(1.4, 6);
  });

  it('counts rows that were proven gone', () => {
    expect(learntBy(learning, walk('poll'), totals, over(3)).learnt?.changes).toBe(7);
  });

  it('is of a list’s row whether it told the truth: where the reading found a change, or ends without one', () => {
    const alarmsOf = (
      of: Partial<Learning>,
      found: Partial<ReadTotals>,
      end = over(0),
      kind: Walk['kind'] = 'poll',
    ) => learntBy({ ...learning, kind: 'list', ...of }, walk(kind), addTotals(NO_TOTALS, found), end).alarms;
    const [wrong, right] = [
      { trueAlarms: 0, falseAlarms: 1 },
      { trueAlarms: 1, falseAlarms: 0 },
    ];
    expect(alarmsOf({ isDue: true }, {})).toEqual(wrong);
    expect(alarmsOf({ isDue: true }, { updated: 9 })).toEqual(right);
    expect(alarmsOf({ isDue: true }, {}, over(1))).toEqual(right);
    // A refresh has to follow.
    expect(alarmsOf({ isDue: true }, {}, { gone: 0, isOver: false })).toEqual(NO_ALARMS);
    expect(alarmsOf({ isDue: true }, { updated: 1 }, over(0), 'refresh')).toEqual(right);
    // Nothing was announced.
    expect(alarmsOf({}, {})).toEqual(NO_ALARMS);
    expect(alarmsOf({}, { inserted: 1 })).toEqual(NO_ALARMS);
    // An event asked for the reading: what it found the row tells, too; that it found nothing is not the row's fault.
    expect(alarmsOf({ hinted: true }, { inserted: 1 })).toEqual(right);
    expect(alarmsOf({ hinted: true, isDue: true }, {})).toEqual(NO_ALARMS);
    // A first reading finds rows, and no changes.
    expect(alarmsOf({ isDue: true, readAt: undefined }, {})).toBeUndefined();
  });

  it('is nothing of what a poll costs, where an event asked for the reading', () => {
    const hinted = { ...learning, hinted: true };
    expect(learntBy(hinted, walk('refresh'), totals, over(0)).learnt).toMatchObject({ changes: 4, cost: 1 });
    const { HINT, LATE_HINT, POLL, LISTS } = PRIORITY;
    const session = { scope: { parent: '' }, isDue: false } as ScopeSession;
    const hintedAt = [HINT, LATE_HINT, POLL, LISTS].map((each) => learningOf(session, each).hinted);
    expect(hintedAt).toEqual([true, true, false, false]);
  });
});
