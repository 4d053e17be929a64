import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DRAWN_HEIGHT, inGroups, type Series, seriesPath } from './series-path.ts';

/** The points that a path draws, in its pieces. @throws where it is no path of ours */
function pointsOf(path: string): [number, number][][] {
  const pieces: [number, number][][] = [];
  let [x, y] = [0, 0];
  const rest = path.replaceAll(/M(\d+) (\d+)|h(\d+)|l(\d+) ?(-?\d+)/g, (_, mx, my, h, lx, ly) => {
    if (mx !== undefined) {
      [x, y] = [Number(mx), Number(my)];
      pieces.push([[x, y]]);
      return '';
    }
    if (h === undefined) [x, y] = [x + Number(lx), y + Number(ly)];
    else x += Number(h);
    pieces.at(-1)?.push([x, y]);
    return '';
  });
  expect(rest).toBe('');
  return pieces;
}

describe('the path of a series', () => {
  it('goes up and down with the values, from zero', () => {
    expect(seriesPath([0, 10, 5, 5, 5, 10], 'zero')).toBe('M0 40l1-40l1 20h2l1-20');
  });

  it('goes from the least value where only differences tell something', () => {
    expect(seriesPath([1000, 1001, 1002], 'least')).toBe('M0 40l1-20l1-20');
  });

  it('is broken where nothing is known, with a dot where only one value is', () => {
    expect(seriesPath([null, 1, null, null, 1, 0, null, 1], 'zero')).toBe('M1 0h0M4 0l1 40M7 0h0');
  });

  it('lies at the bottom where all is zero, in the middle where all is the same', () => {
    expect(seriesPath([0, 0, 0], 'zero')).toBe('M0 40h2');
    expect(seriesPath([0, 0], 'least')).toBe('M0 40h1');
    expect(seriesPath([7, 7], 'least')).toBe('M0 20h1');
    expect(seriesPath([7, 7], 'zero')).toBe('M0 0h1');
  });

  it('is none of no values', () => {
    expect([seriesPath([], 'least'), seriesPath([null, null], 'zero')]).toEqual(['', '']);
  });

  it('of any series stays in its box, is broken at its gaps, and is as high as its values', () => {
    const values = fc.array(
      fc.option(fc.oneof(fc.nat(20), fc.maxSafeNat(), fc.double({ min: 0, max: 1e300 }))),
      {
        maxLength: 300,
      },
    );
    fc.assert(
      fc.property(values, fc.constantFrom('zero' as const, 'least' as const), (series, bottom) => {
        const pieces = pointsOf(seriesPath(series, bottom));
        const drawn = pieces.flat();
        for (const [x, y] of drawn) {
          expect(x).toBeLessThanOrEqual(series.length - 1);
          expect(y).toBeGreaterThanOrEqual(0);
          expect(y).toBeLessThanOrEqual(DRAWN_HEIGHT);
          expect(series[x]).not.toBeNull();
        }
        expect(pieces.length).toBe(
          series.filter((value, index) => value !== null && (series[index - 1] ?? null) === null).length,
        );
        // What is drawn between two points is level, or a step of one.
        const covered = pieces.flatMap((piece) => {
          const [first] = piece[0] ?? [0];
          const [end] = piece.at(-1) ?? [0];
          return Array.from({ length: end - first + 1 }, (_, index) => first + index);
        });
        expect(covered).toEqual(series.flatMap((value, index) => (value === null ? [] : [index])));
        const heights = new Map(drawn);
        const at = (index: number): number => heights.get(index) ?? Number.NaN;
        const ends = drawn.map(([x]) => x);
        for (const a of ends) {
          for (const b of [ends[0] ?? a, ends.at(-1) ?? a]) {
            if (Number(series[a]) < Number(series[b])) expect(at(a)).toBeGreaterThanOrEqual(at(b));
          }
        }
      }),
    );
  });
});

describe('values in groups', () => {
  const sum = (some: readonly number[]): number => some.reduce((a, b) => a + b, 0);

  it('are joined by what is known of them', () => {
    const series: Series = [1, 2, null, 4, null, null];
    expect(inGroups(series, 2, sum)).toEqual([3, 4, null]);
  });

  it('are whole: what is too much is left out where it is oldest', () => {
    expect(inGroups([9, 1, 2, 3, 4], 2, sum)).toEqual([3, 7]);
    expect(inGroups([], 2, sum)).toEqual([]);
  });
});
