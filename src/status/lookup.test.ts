import { expect, it } from 'vitest';
import { rowAddress, rowName, rowPath } from './lookup-store.ts';

it.each([
  ['of no table', 'secrets', '7'],
  ['without its key', 'list_items', '7'],
  ['with a key of another type', 'research_jobs', 'seven'],
  ['with a key beyond 64 bits', 'research_jobs', '9223372036854775808'],
  ['with an empty key', 'watchlist', ''],
  ['with what no text can hold', 'watchlist', '\0'],
  ['with more than its key', 'lists', '7:8'],
  ['with a list that is no number', 'list_items', 'x:7'],
])('an address %s names no row', (_, name, key) => {
  expect(rowAddress('42', name, key)).toBeUndefined();
});

it('a number has one key in all its spellings', () => {
  expect(rowAddress('042', 'lists', '-007')).toEqual({ userId: '42', collection: 'lists', key: '-7' });
  expect(rowAddress('me', 'lists', '7')).toBeUndefined();
});

it.each([
  ['research_jobs', '7', 'rows?user=42&collection=research_jobs&key=7', 'research_jobs 7'],
  ['account', '42', 'rows?user=42&collection=account&key=42', 'account 42'],
  [
    'list_items',
    '7:a:b/c',
    'rows?user=42&collection=list_items&key=7%3Aa%3Ab%2Fc',
    'list_items a:b/c of list 7',
  ],
  ['watchlist', '..', 'rows?user=42&collection=watchlist&key=..', 'watchlist ..'],
] as const)('a row of %s has the key %s of the view changes', (name, key, path, words) => {
  const row = { userId: '42', collection: name, key };
  expect(rowAddress('42', name, key)).toEqual(row);
  expect(rowPath(row)).toBe(path);
  expect(rowName(row)).toBe(words);
});
