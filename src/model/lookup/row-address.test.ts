import { expect, it } from 'vitest';
import { changedRow, readRowPath, rowPath } from './row-address.ts';

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
  expect(readRowPath('rows/042/lists/-007')).toEqual({ userId: '42', collection: 'lists', key: ['-7'] });
  expect(readRowPath('rows/42/account')).toEqual({ userId: '42', collection: 'account', key: [] });
});

it.each([
  ['research_jobs', '7', 'rows/42/research_jobs/7'],
  ['account', '42', 'rows/42/account'],
  ['list_items', '7:a:b/c', 'rows/42/list_items/7/a%3Ab%2Fc'],
  ['watchlist', '..', 'rows/42/watchlist/~..'],
] as const)('a change of a row of %s with the key %s is about that row', (name, key, path) => {
  expect(rowPath(changedRow('42', name, key))).toBe(path);
});
