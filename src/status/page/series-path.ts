/** Values at equal distances; null: not known. */
export type Series = readonly (number | null)[];

/** Units of the drawing: one between two values, so many from the lowest to the highest. */
export const DRAWN_HEIGHT = 40;

/**
 * A series as the path of an SVG whose view box is `0 0 (length − 1) DRAWN_HEIGHT`: a line that is broken where nothing
 * is known; a value between two gaps is a dot (a line of no length, which has round ends). Values are rounded to whole
 * units, and a level stretch is one step: a quiet day takes some bytes.
 * @param bottom where the lowest line lies: at zero, or at the least value; a series whose values are all the same lies
 *   at the bottom where they are zero, else in the middle
 */
export function seriesPath(values: Series, bottom: 'zero' | 'least'): string {
  const known = values.filter((value) => value !== null);
  const low = Math.min(bottom === 'zero' ? 0 : Number.POSITIVE_INFINITY, ...known);
  const high = Math.max(bottom === 'zero' ? 0 : Number.NEGATIVE_INFINITY, ...known);
  const heightOf = (value: number): number => {
    const share = high > low ? (value - low) / (high - low) : value === 0 ? 0 : 0.5;
    return DRAWN_HEIGHT - Math.round(share * DRAWN_HEIGHT);
  };
  let path = '';
  let level = 0;
  /** Undefined: a gap. */
  let last: number | undefined;
  const endLevel = (): void => {
    if (level > 0) path += `h${level}`;
    level = 0;
  };
  for (const [index, value] of values.entries()) {
    const y = value === null ? undefined : heightOf(value);
    if (y !== undefined && y === last) {
      level += 1;
      continue;
    }
    endLevel();
    if (y === undefined) {
      last = undefined;
      continue;
    }
    if (last === undefined) path += `M${index} ${y}${startsDot(values, index) ? 'h0' : ''}`;
    else path += `l1${y < last ? '' : ' '}${y - last}`;
    last = y;
  }
  endLevel();
  return path;
}

function startsDot(values: Series, index: number): boolean {
  return (values[index + 1] ?? null) === null;
}

/**
 * One value for each `size` of them, by `join` of those that are known; null where none is. The first ones are left out
 * where they are fewer than `size`.
 */
export function inGroups(values: Series, size: number, join: (some: readonly number[]) => number): Series {
  return Array.from({ length: Math.floor(values.length / size) }, (_, group) => {
    const begin = (values.length % size) + group * size;
    const known = values.slice(begin, begin + size).filter((value) => value !== null);
    return known.length === 0 ? null : join(known);
  });
}
