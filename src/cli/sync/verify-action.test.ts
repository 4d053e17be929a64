import { describe, expect, it } from 'vitest';
import type { Discrepancy } from '../../app/verify/run-verify.ts';
import { describeVerification } from './verify-action.ts';

type Fields = Discrepancy['fields'];

const lineOf = (fields: Fields): string | undefined =>
  describeVerification(
    {
      equal: false,
      unknownKeys: [],
      collections: [
        {
          userId: '1',
          sample: null,
          estimate: { requests: 1, seconds: 1 },
          collection: 'lists',
          items: 1,
          rows: 1,
          missing: 0,
          extra: 0,
          different: 1,
          changed: 0,
          quarantined: 0,
          forgotten: 0,
          readOnce: 0,
          requests: 1,
          rateLimited: 0,
          milliseconds: 1,
          error: null,
          discrepancies: [{ kind: 'different', list: '', key: '17', fields, note: '' }],
        },
      ],
    },
    undefined,
  )
    .split('\n')
    .find((line) => line.startsWith('lists 17'));

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
