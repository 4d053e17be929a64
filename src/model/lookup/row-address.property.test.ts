import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs } from '../../../test/support/effort.ts';
import { COLLECTION_NAMES } from '../collections.ts';
import { keyOf, keyTypes, readRowPath, type RowAddress, rowPath } from './row-address.ts';

const integer = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
const hostile = fc.constantFrom(
  '.',
  '..',
  '~',
  '~.',
  '%2e',
  '%',
  '/',
  '//',
  '\\',
  '?',
  '#',
  ' ',
  'a/../b',
  "'",
  '"',
);
const text = fc
  .oneof(
    hostile,
    fc.string({ minLength: 1, maxLength: 300 }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }),
  )
  .filter((value) => keyOf('text', value) === value);
const address: fc.Arbitrary<RowAddress> = fc.constantFrom(...COLLECTION_NAMES).chain((collection) =>
  fc.record({
    userId: integer,
    collection: fc.constant(collection),
    key: fc.tuple(...keyTypes(collection).map((type) => (type === 'bigint' ? integer : text))),
  }),
);

it('leads from a row to its path and back, through whatever a browser makes of the path', () => {
  fc.assert(
    fc.property(address, (row) => {
      const seen = new URL(`/prefix/${rowPath(row)}`, 'http://localhost:8080').pathname;
      expect(readRowPath(seen.slice('/prefix/'.length))).toEqual(row);
    }),
    { numRuns: runs(300, 10_000) },
  );
});
