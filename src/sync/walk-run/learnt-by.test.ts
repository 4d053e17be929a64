import { expect, it } from 'vitest';
import { type Alarms, NO_ALARMS } from '../../plan/alarms.ts';
import { NOTHING_LEARNT } from '../../plan/learnt-changes.ts';
import type { Walk } from '../../walk/walk.ts';
import { PRIORITY } from '../../budget/priorities.ts';
import type { ScopeSession } from '../scope/scope-session.ts';
import { type Learning, learningOf, learntBy } from './learnt-by.ts';
import { addTotals, NO_TOTALS, type ReadTotals } from './walk-totals.ts';

const BEGAN = Date.UTC(2026, 0, 1);
const FOUR = { pages: 2, requests: 7, inserted: 3, updated: 1, unchanged: 200 };

/** What a walk teaches with which a collection's reading ends, and which found that. */
function taught(
  of: Partial<Learning>,
  kind: Walk['kind'] = 'poll',
  found: Partial<ReadTotals> = FOUR,
  { gone = 0, isOver = true } = {},
) {
  const collection = { kind: 'collection', known: NOTHING_LEARNT, alarms: NO_ALARMS } as const;
  const learning = { ...collection, readAt: new Date(BEGAN), isDue: false, hinted: false, ...of };
  return learntBy(learning, { kind, began: BEGAN } as Walk, addTotals(NO_TOTALS, found), { gone, isOver });
}

it('what a walk teaches counts new and changed rows, says which were announced, and rows that were proven gone', () => {
  expect(taught({}).learnt).toMatchObject({ changes: 4, announced: 0, cost: 1.2 });
  expect(taught({ isDue: true }).learnt).toMatchObject({ changes: 4, announced: 4 });
  expect(taught({}, 'poll', FOUR, { gone: 3 }).learnt?.changes).toBe(7);
});

it('what a walk teaches is nothing at the first load: rows that come are no changes', () => {
  expect(taught({ readAt: undefined })).toEqual({});
});

it('what a walk teaches is nothing of a collection’s full walk, whose changes no poll would find; of a list’s it is', () => {
  expect(taught({}, 'full')).toEqual({});
  expect(taught({ kind: 'list' }, 'full').learnt?.changes).toBe(4);
});

it('what a walk teaches adds a refresh to the cost of the poll before it', () => {
  const { learnt: known = NOTHING_LEARNT } = taught({}, 'poll', { pages: 1 });
  expect(taught({ known }, 'refresh').learnt?.cost).toBeCloseTo(1.4, 6);
});

const WRONG = { trueAlarms: 0, falseAlarms: 1 };
const RIGHT = { trueAlarms: 1, falseAlarms: 0 };
const DUE = { isDue: true };

it.each<[string, Alarms | undefined, Parameters<typeof taught>]>([
  ['where the reading ends without a change', WRONG, [DUE, 'poll', {}]],
  ['where it found a change', RIGHT, [DUE, 'poll', { updated: 9 }]],
  ['where it found a row gone', RIGHT, [DUE, 'poll', {}, { gone: 1 }]],
  ['not before its refresh', NO_ALARMS, [DUE, 'poll', {}, { isOver: false }]],
  ['where its refresh found a change', RIGHT, [DUE, 'refresh', { updated: 1 }]],
  ['not where nothing was announced', NO_ALARMS, [{}, 'poll', {}]],
  ['not where nothing was announced and something came', NO_ALARMS, [{}, 'poll', { inserted: 1 }]],
  ['where an event asked for it, the row too', RIGHT, [{ hinted: true }, 'poll', { inserted: 1 }]],
  ['not where that found nothing', NO_ALARMS, [{ hinted: true, ...DUE }, 'poll', {}]],
  ['not by a first reading', undefined, [{ ...DUE, readAt: undefined }, 'poll', {}]],
])('what a walk teaches is of a list’s row whether it told the truth: %s', (_, alarms, [of, ...rest]) => {
  expect(taught({ kind: 'list', ...of }, ...rest).alarms).toEqual(alarms);
});

it('what a walk teaches is nothing of what a poll costs, where an event asked for the reading', () => {
  expect(taught({ hinted: true }, 'refresh').learnt).toMatchObject({ changes: 4, cost: 1 });
  const { HINT, POLL, LISTS } = PRIORITY;
  const session = { scope: { parent: '' }, isDue: false } as ScopeSession;
  const hintedAt = [HINT, POLL, LISTS].map((each) => learningOf(session, each).hinted);
  expect(hintedAt).toEqual([true, false, false]);
});
