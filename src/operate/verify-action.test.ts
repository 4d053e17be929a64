import { expect, it } from 'vitest';
import type { CollectionName } from '../model/collections.ts';
import { notVerified } from './verify-scope.ts';
import { describeVerification } from './verify.ts';

/** What is said of collections with one row each that differs in these fields. */
function textOf(fields: readonly string[], ...names: CollectionName[]): string[] {
  const differing = fields.map((name) => ({ name, source: 'a', mirror: 'b' }));
  const row = { kind: 'different', list: '', key: '17', fields: differing, note: '' } as const;
  const collections = names.map((name) => ({
    ...notVerified('1', name, null),
    different: 1,
    requests: 1,
    discrepancies: [row],
  }));
  return describeVerification({ equal: false, unknownKeys: [], collections }, undefined).split('\n');
}

it.each([
  // The hash only where nothing else differs.
  [['_hash', 'name'], /^lists 17 different: name: a ≠ b$/],
  [['_hash'], /^lists 17 different: _hash: a ≠ b$/],
  [['_hash', 'a', 'b', 'c', 'd', 'e', 'f'], /; e: a ≠ b; 1 more field$/],
])('a different row is printed with five fields, and the number of others: %j', (fields, line) => {
  expect(textOf(fields, 'lists').find((each) => each.startsWith('lists 17'))).toMatch(line);
});

it('rows of all collections are printed together below the table', () => {
  expect(textOf(['name'], 'lists', 'watchlist').slice(-6)).toEqual([
    '',
    'lists 17 different: name: a ≠ b',
    'watchlist 17 different: name: a ≠ b',
    '',
    '2 requests; 2 rows differ (service ≠ mirror)',
    '',
  ]);
});
