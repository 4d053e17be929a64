import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../test/support/effort.ts';
import { COLLECTION_NAMES, type CollectionName } from '../model/collections.ts';
import { keyOf, type RowAddress, rowAddress, rowName, rowPath } from './lookup-store.ts';

const integer = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const hostile = fc.constantFrom(' ', ...String.raw`. .. ~ ~. %2e % / // \ ? # a/../b ' "`.split(' '));
const text = fc
  .oneof(
    hostile,
    fc.string({ minLength: 1, maxLength: 300 }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }),
  )
  .filter((value) => keyOf('text', value) === value);
const numbered: ReadonlySet<CollectionName> = new Set(['research_jobs', 'bulk_research_jobs', 'lists']);
const keyIn = (collection: CollectionName): fc.Arbitrary<string> =>
  numbered.has(collection)
    ? integer
    : collection === 'list_items'
      ? fc.tuple(integer, text).map((parts) => parts.join(':'))
      : text;
const address: fc.Arbitrary<RowAddress> = fc
  .tuple(fc.constantFrom(...COLLECTION_NAMES), integer)
  .chain(([collection, userId]) =>
    fc.record({
      userId: fc.constant(userId),
      collection: fc.constant(collection),
      key: collection === 'account' ? fc.constant(userId) : keyIn(collection),
    }),
  );

it('a row leads to its address and back, through the encoding of a browser', () => {
  fc.assert(
    fc.property(address, (row) => {
      const { pathname, searchParams: asked } = new URL(`/prefix/${rowPath(row)}`, 'http://localhost:8080');
      expect(pathname).toBe('/prefix/rows');
      const [user = '', name = '', key = ''] = ['user', 'collection', 'key'].map((each) => asked.get(each) ?? '');
      expect(rowAddress(user, name, key)).toEqual(row);
    }),
    { numRuns: runs(300, 10_000) },
  );
});

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
  ['research_jobs', '7', 'research_jobs 7'],
  ['list_items', '7:a:b/c', 'list_items a:b/c of list 7'],
] as const)('a row of %s with the key %s is called %s', (collection, key, words) => {
  expect(rowName({ userId: '42', collection, key })).toBe(words);
});
