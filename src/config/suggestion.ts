/** ` (did you mean X?)` for the one of the words nearest to `name`, or '' where none is near. */
export function suggestion(name: string, words: readonly string[]): string {
  const near = words
    .map((match) => ({ match, distance: editDistance(name, match) }))
    .filter(({ match, distance }) => distance <= Math.max(2, Math.floor(match.length / 4)))
    .toSorted((a, b) => a.distance - b.distance)[0];
  return near === undefined ? '' : ` (did you mean ${near.match}?)`;
}

/** Letters to insert, delete or replace, or neighbours to swap (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let least = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) least = Math.min(least, at(beforeLast, j - 2) + 1);
      row.push(least);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
