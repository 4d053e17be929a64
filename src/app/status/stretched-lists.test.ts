import { expect, it } from 'vitest';
import { notesOnStretchedLists } from './stretched-lists.ts';

const NOW = new Date('2026-01-01T00:00:30Z');
const eachMinute = (_: string, __: string, after: Date): { nextPollAt: Date; nextFullAt: null } => ({
  nextPollAt: new Date(Math.floor(after.getTime() / 60_000 + 1) * 60_000),
  nextFullAt: null,
});

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
  const notes = notesOnStretchedLists(account(5_000, 48), { after: eachMinute }, NOW);
  expect(notes).toHaveLength(1);
  expect(notes[0]).toContain(
    '42/list_items: each of 5,000 lists is read every 2 h on average, not every 60 s, because the account has 48 requests',
  );
});

it('says nothing where the line is kept, where it is never, or where the budget is not known', () => {
  const never = (): { nextPollAt: null; nextFullAt: null } => ({ nextPollAt: null, nextFullAt: null });
  expect(notesOnStretchedLists(account(30, 48), { after: eachMinute }, NOW)).toEqual([]);
  expect(notesOnStretchedLists(account(5_000, 48), { after: never }, NOW)).toEqual([]);
  expect(notesOnStretchedLists(account(5_000, undefined), { after: eachMinute }, NOW)).toEqual([]);
});
