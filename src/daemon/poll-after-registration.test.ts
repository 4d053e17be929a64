import { expect, it } from 'vitest';
import { COLLECTION_NAMES, type CollectionName } from '../model/collections.ts';
import { pollAfterRegistration } from './run-daemon.ts';

const lines = (line: (name: CollectionName) => string) =>
  Object.fromEntries(COLLECTION_NAMES.map((name) => [name, line(name)])) as Record<CollectionName, string>;
const CRON = { poll: lines((name) => (name === 'lists' ? 'never' : '@daily')), full: lines(() => 'never') };

it.each<[string, userId: string, polled: string[]]>([
  ['what is not never', '2', ['2 research_jobs', '2 watchlist']],
  ['nothing of an account that does not run now', '3', []],
  ['nothing of an account that is not run here', '4', []],
])('a registration polls %s', (_, userId, wanted) => {
  const polled: string[] = [];
  const account = (id: string) => ({
    userId: id,
    current: () => ({ service: { pollDue: (name: CollectionName) => void polled.push(`${id} ${name}`) } }),
  });
  const elsewhere = { userId: '3', current: () => undefined };
  const config = { collections: ['research_jobs', 'lists', 'watchlist'] as const, cron: CRON };
  pollAfterRegistration(config, [account('1'), account('2'), elsewhere], userId);
  expect(polled).toEqual(wanted);
});
