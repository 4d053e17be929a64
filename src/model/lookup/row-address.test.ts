import { expect, it } from 'vitest';
import { readRowPath, rowAddress, rowName, rowPath } from './row-address.ts';

it.each([
  ['of another place', 'api/42/lists/7'],
  ['of no table', 'rows/42/secrets/7'],
  ['of no account', 'rows/me/lists/7'],
  ['without its key', 'rows/42/list_items/7'],
  ['with more than its key', 'rows/42/lists/7/8'],
  ['with a key of another type', 'rows/42/research_jobs/seven'],
  ['with a key beyond 64 bits', 'rows/42/research_jobs/9223372036854775808'],
  ['with an empty key', 'rows/42/watchlist/'],
  ['with what no text can hold', 'rows/42/watchlist/%00'],
  ['with half a character', 'rows/42/watchlist/%E2%82'],
])('a path %s names no row', (_, path) => {
  expect(readRowPath(path)).toBeUndefined();
});

it('a number is the same number however it is written', () => {
  expect(readRowPath('rows/042/lists/-007')).toEqual({ userId: '42', collection: 'lists', key: '-7' });
  expect(readRowPath('rows/42/account')).toEqual({ userId: '42', collection: 'account', key: '42' });
});

it.each([
  ['research_jobs', '7', 'rows/42/research_jobs/7', 'research_jobs 7'],
  ['account', '42', 'rows/42/account', 'account 42'],
  ['list_items', '7:a:b/c', 'rows/42/list_items/7/a%3Ab%2Fc', 'list_items a:b/c of list 7'],
  ['watchlist', '..', 'rows/42/watchlist/~..', 'watchlist ..'],
] as const)('a row of %s has the key %s of the view changes', (name, key, path, words) => {
  const row = { userId: '42', collection: name, key };
  expect(rowAddress('42', name, key)).toEqual(row);
  expect(rowPath(row)).toBe(path);
  expect(rowName(row)).toBe(words);
});

it.each([
  ['list_items', '7'],
  ['list_items', 'x:7'],
  ['lists', '7:8'],
  ['secrets', '7'],
])('there is no row of %s with the key %s', (name, key) => {
  expect(rowAddress('42', name, key)).toBeUndefined();
});
