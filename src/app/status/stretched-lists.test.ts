import { expect, it } from 'vitest';
import type { LearntChanges } from '../../plan/learnt-changes.ts';
import { notesOnStretchedLists } from './stretched-lists.ts';

const NOW = new Date('2026-01-01T00:00:30Z');
const eachMinute = (_: string, __: string, after: Date): { nextPollAt: Date; nextFullAt: null } => ({
  nextPollAt: new Date(Math.floor(after.getTime() / 60_000 + 1) * 60_000),
  nextFullAt: null,
});

const NEW: Parameters<typeof notesOnStretchedLists>[2] = new Map();

type Accounts = Parameters<typeof notesOnStretchedLists>[0];

function account(lists: number, size: number | undefined): Accounts {
  const collections = ['research_jobs', 'lists', 'list_items'].map((collection) => ({
    collection,
    state: 'current',
    liveRows: collection === 'lists' ? lists : 1_000_000,
  }));
  const budgets = size === undefined ? [] : [{ key: 'a', groups: [{ group: 'other', size }] }];
  return [{ userId: '42', collections, budgets }] as unknown as Accounts;
}

it('says how often lists are read that are more than their cron line can read, and why', () => {
  const notes = notesOnStretchedLists(account(5_000, 48), { after: eachMinute }, NEW, NOW);
  expect(notes).toHaveLength(1);
  expect(notes[0]).toContain(
    '42/list_items: each of 5,000 lists is read every 2 h on average, not every 60 s, because the account has 48 requests',
  );
});

it('says nothing where the line is kept, where it is never, or where the budget is not known', () => {
  const never = (): { nextPollAt: null; nextFullAt: null } => ({ nextPollAt: null, nextFullAt: null });
  expect(notesOnStretchedLists(account(30, 48), { after: eachMinute }, NEW, NOW)).toEqual([]);
  expect(notesOnStretchedLists(account(5_000, 48), { after: never }, NEW, NOW)).toEqual([]);
  expect(notesOnStretchedLists(account(5_000, undefined), { after: eachMinute }, NEW, NOW)).toEqual([]);
});

it('counts what a reading of each list takes, and polls between the lines’ runs', () => {
  const learnt = (cost: number, changes = 0, need = 0): LearntChanges & { readonly need: number } => ({
    changes,
    announced: 0,
    watchedMs: 3e7,
    cost,
    need,
  });
  const readings = new Map([
    ['42/list_items', learnt(10_000, 0, 1)],
    ['42/lists', learnt(2)],
    // Beside the lines' 3 of 48 a minute, what they are worth more for than lists.
    ['42/research_jobs', learnt(1, 3e6)],
  ]);
  const [note] = notesOnStretchedLists(account(5_000, 48), { after: eachMinute }, readings, NOW);
  expect(note).toContain('each of 5,000 lists is read every 4 h on average');
  expect(note).toContain('of which polls of other collections take 13. Next are lists that have changed');
});

it('says what comes next where a day does not suffice', () => {
  const [note] = notesOnStretchedLists(account(80_000, 48), { after: eachMinute }, NEW, NOW);
  expect(note).toContain('Next are mostly those that were read longest ago');
});
