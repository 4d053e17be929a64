import { describe, expect, it } from 'vitest';
import { NOTHING_LEARNT } from '../../plan/learnt-changes.ts';
import type { Walk } from '../../walk/walk.ts';
import { PRIORITY } from '../../budget/priorities.ts';
import type { ScopeSession } from '../scope/scope-session.ts';
import { type Learning, learningOf, learntBy } from './learnt-by.ts';
import { addTotals, NO_TOTALS } from './walk-totals.ts';

const BEGAN = Date.UTC(2026, 0, 1);
const learning: Learning = {
  kind: 'collection',
  known: NOTHING_LEARNT,
  readAt: new Date(BEGAN),
  announced: false,
  hinted: false,
};
const totals = addTotals(NO_TOTALS, { pages: 2, requests: 7, inserted: 3, updated: 1, unchanged: 200 });

const walk = (kind: Walk['kind'], began = BEGAN): Walk => ({ kind, began }) as Walk;

describe('what a walk teaches', () => {
  it('counts new and changed rows, and says which were announced', () => {
    expect(learntBy(learning, walk('poll'), totals, 0).learnt).toMatchObject({
      changes: 4,
      announced: 0,
      cost: 1.2,
    });
    const told = learntBy({ ...learning, announced: true }, walk('poll'), totals, 0);
    expect(told.learnt).toMatchObject({ changes: 4, announced: 4 });
  });

  it('is nothing at the first load: rows that come are no changes', () => {
    expect(learntBy({ ...learning, readAt: undefined }, walk('poll'), totals, 0)).toEqual({});
  });

  it('is nothing of a collection’s full walk, whose changes no poll would find; of a list’s it is', () => {
    expect(learntBy(learning, walk('full'), totals, 0)).toEqual({});
    expect(learntBy({ ...learning, kind: 'list' }, walk('full'), totals, 0).learnt?.changes).toBe(4);
  });

  it('adds a refresh to the cost of the poll before it', () => {
    const poll = learntBy(learning, walk('poll'), addTotals(NO_TOTALS, { pages: 1 }), 0).learnt;
    const both = learntBy({ ...learning, known: poll ?? NOTHING_LEARNT }, walk('refresh'), totals, 0).learnt;
    expect(both?.cost).toBeCloseTo(1.4, 6);
  });

  it('counts rows that were proven gone', () => {
    expect(learntBy(learning, walk('poll'), totals, 3).learnt?.changes).toBe(7);
  });

  it('is nothing of what a poll costs, where an event asked for the reading', () => {
    const hinted = { ...learning, announced: true, hinted: true };
    expect(learntBy(hinted, walk('refresh'), totals, 0).learnt).toMatchObject({ changes: 4, cost: 1 });
    const { HINT, LATE_HINT, POLL, LISTS } = PRIORITY;
    const session = { scope: { parent: '' }, isDue: false } as ScopeSession;
    const hintedAt = [HINT, LATE_HINT, POLL, LISTS].map((each) => learningOf(session, each).hinted);
    expect(hintedAt).toEqual([true, true, false, false]);
  });
});
