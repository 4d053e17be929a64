import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Sighting, verdict } from './verify-scope.ts';

const different: Sighting = { key: '1', kind: 'different', source: 'a1', row: '7' };
const sighting = fc.record<Sighting>({
  key: fc.constant('1'),
  kind: fc.constantFrom('missing', 'extra', 'different', 'quarantined'),
  source: fc.constantFrom(undefined, 'a', 'b'),
  row: fc.constantFrom(undefined, '1', '2'),
});

describe('the verdict of two readings', () => {
  it('is what both say of the same item and the same version of the row', () => {
    expect(verdict(different, different, false)).toBe('different');
  });

  it.each<[string, Sighting | undefined]>([
    ['the mirror caught up', undefined],
    ['the item changed', { ...different, source: 'b2' }],
    ['the row changed', { ...different, row: '8' }],
    ['the item vanished', { key: '1', kind: 'extra', source: undefined, row: '7' }],
    ['the row was deleted', { key: '1', kind: 'missing', source: 'a1', row: '8' }],
  ])('is that it changed while reading, where %s in between', (_, second) => {
    expect(verdict(different, second, false)).toBe('changed');
  });

  it('is the same while the mirror itself waits for a second proof', () => {
    const extra: Sighting = { key: '1', kind: 'extra', source: undefined, row: '7' };
    expect(verdict(extra, extra, false)).toBe('extra');
    expect(verdict(extra, extra, true)).toBe('changed');
  });

  it('sets apart what went into quarantine meanwhile', () => {
    expect(verdict(different, { ...different, kind: 'quarantined' }, false)).toBe('quarantined');
  });

  it('accuses nobody on the word of one reading', () => {
    fc.assert(
      fc.property(
        sighting,
        fc.option(sighting, { nil: undefined }),
        fc.boolean(),
        (first, second, suspected) => {
          const kind = verdict(first, second, suspected);
          if (kind === 'changed' || kind === 'quarantined') return;
          expect(first).toEqual(second);
          expect(suspected).toBe(false);
          expect(kind).toBe(first.kind);
        },
      ),
    );
  });
});
