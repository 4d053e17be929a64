import { expect, it } from 'vitest';
import { COLLECTION_NAMES, type CollectionName } from '../../model/collections.ts';
import { pollAfterRegistration } from './run-daemon.ts';

const lines = (line: (name: CollectionName) => string) =>
  Object.fromEntries(COLLECTION_NAMES.map((name) => [name, line(name)])) as Record<CollectionName, string>;
const CRON = { poll: lines((name) => (name === 'lists' ? 'never' : '@daily')), full: lines(() => 'never') };

function polledAfter({
  mistrusted = false,
  ...news
}: {
  readonly userId: string;
  readonly renewed: boolean;
  readonly mistrusted?: boolean;
}): string[] {
  const polled: string[] = [];
  const account = (userId: string) => ({
    userId,
    current: () => ({
      service: { pollDue: (name: CollectionName) => void polled.push(`${userId} ${name}`) },
    }),
  });
  const elsewhere = { userId: '3', current: () => undefined };
  const config = { collections: ['research_jobs', 'lists', 'watchlist'] as const, cron: CRON };
  pollAfterRegistration(config, [account('1'), account('2'), elsewhere], { ...news, mistrusted });
  return polled;
}

it('polls the account’s collections, except those with the cron line never', () => {
  expect(polledAfter({ userId: '2', renewed: true })).toEqual(['2 research_jobs', '2 watchlist']);
});

it('polls all collections with events where events may not be understood, also those with the cron line never', () => {
  expect(polledAfter({ userId: '2', renewed: false, mistrusted: true })).toEqual([
    '2 research_jobs',
    '2 lists',
  ]);
});

it('does nothing for a registration that was there before, or an account that is not run here', () => {
  expect(polledAfter({ userId: '2', renewed: false })).toEqual([]);
  expect(polledAfter({ userId: '3', renewed: true })).toEqual([]);
  expect(polledAfter({ userId: '4', renewed: true })).toEqual([]);
});
