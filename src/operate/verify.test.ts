import { expect, it } from 'vitest';
import type { CollectionName } from '../model/collections.ts';
import { notVerified, verdict } from './verify-scope.ts';
import { describeVerification } from './verify.ts';
import fc from 'fast-check';
import type { UnequalItem } from './compare-rows.ts';

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

type Deletion = Parameters<typeof verdict>[2];
const kindOf = (first: UnequalItem, second: UnequalItem | undefined, deletion?: Deletion): string =>
  verdict(first, second, deletion).kind;

const of = { key: '1', fields: [], stale: false };
const different: UnequalItem = { ...of, kind: 'different', source: 'a1', row: '7' };
const sighting = fc.record<UnequalItem>({
  key: fc.constant('1'),
  kind: fc.constantFrom('missing', 'extra', 'different', 'quarantined'),
  source: fc.constantFrom(undefined, 'a', 'b'),
  row: fc.constantFrom(undefined, '1', '2'),
  fields: fc.constant([]),
  stale: fc.constant(false),
});

const extra: UnequalItem = { ...of, kind: 'extra', source: undefined, row: '7' };
it.each<[string, string, first: UnequalItem, second: UnequalItem, deletion?: Deletion]>([
  ['counts what both show', 'different', different, different],
  ['counts a row that only the mirror has', 'extra', extra, extra],
  ['counts it, too, if its deletion is proven', 'extra', extra, extra, 'proven'],
  ['is uncertain while the mirror waits for a second proof', 'changed', extra, extra, 'waiting'],
  ['tells what is in quarantine by now', 'quarantined', different, { ...different, kind: 'quarantined' }],
])('the verdict of two readings %s: %s', (_, kind, ...readings) => {
  expect(kindOf(...readings)).toBe(kind);
});

it('the verdict of two readings never relies on one reading alone', () => {
  fc.assert(
    fc.property(
      sighting,
      fc.option(sighting, { nil: undefined }),
      fc.constantFrom<Deletion[]>(undefined, 'waiting', 'proven'),
      (first, second, deletion) => {
        const kind = kindOf(first, second, deletion);
        if (kind === 'changed' || kind === 'quarantined') return;
        expect(first).toEqual(second);
        expect(deletion).not.toBe('waiting');
        expect(kind).toBe(first.kind);
      },
    ),
  );
});
