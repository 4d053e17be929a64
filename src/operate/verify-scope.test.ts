import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UnequalItem } from './compare-rows.ts';
import { verdict } from './verify-scope.ts';

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

describe('the verdict of two readings', () => {
  it('counts what both show of the same item and the same version of the row', () => {
    expect(kindOf(different, different)).toBe('different');
  });

  it('is uncertain while the mirror itself waits for a second proof', () => {
    const extra: UnequalItem = { ...of, kind: 'extra', source: undefined, row: '7' };
    expect(kindOf(extra, extra)).toBe('extra');
    expect(kindOf(extra, extra, 'proven')).toBe('extra');
    expect(kindOf(extra, extra, 'waiting')).toBe('changed');
  });

  it('reports what went into quarantine meanwhile as quarantined', () => {
    expect(kindOf(different, { ...different, kind: 'quarantined' })).toBe('quarantined');
  });

  it('never relies on one reading alone', () => {
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
});
