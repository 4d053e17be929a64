import { describe, expect, it } from 'vitest';
import type { Discrepancy, VerifiedCollection } from '../../app/verify/run-verify.ts';
import type { CollectionName } from '../../model/collections.ts';
import { notVerified } from '../../sync/verify/report.ts';
import { describeVerification } from './verify-action.ts';

type Fields = Discrepancy['fields'];

/** Of a collection with one row that differs in `fields`. */
const verified = (collection: CollectionName, fields: Fields): VerifiedCollection => ({
  ...notVerified('1', collection, null),
  different: 1,
  requests: 1,
  discrepancies: [{ kind: 'different', list: '', key: '17', fields, note: '' }],
});

const textOf = (...collections: VerifiedCollection[]): string[] =>
  describeVerification({ equal: false, unknownKeys: [], collections }, undefined).split('\n');

const lineOf = (fields: Fields): string | undefined =>
  textOf(verified('lists', fields)).find((line) => line.startsWith('lists 17'));

const field = (name: string): Fields[number] => ({ name, source: 'a', mirror: 'b' });

describe('a row that differs', () => {
  it('tells its fields; the hash only where nothing else differs', () => {
    expect(lineOf([field('_hash'), field('name')])).toBe('lists 17 different: name: a ≠ b');
    expect(lineOf([field('_hash')])).toBe('lists 17 different: _hash: a ≠ b');
  });

  it('tells five fields, and how many more there are', () => {
    const names = ['_hash', 'a', 'b', 'c', 'd', 'e', 'f'];
    expect(lineOf(names.map(field))).toMatch(/; e: a ≠ b; 1 more field$/);
  });
});

it('rows of all collections stand together, below the table', () => {
  const text = textOf(verified('lists', [field('name')]), verified('watchlist', [field('name')]));
  expect(text.slice(-6)).toEqual([
    '',
    'lists 17 different: name: a ≠ b',
    'watchlist 17 different: name: a ≠ b',
    '',
    '2 requests; 2 rows differ (service ≠ mirror)',
    '',
  ]);
});
