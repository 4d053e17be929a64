import leven from 'leven';

/** ` (did you mean X?)` for the one of the words nearest to `name`, or '' where none is near. */
export function suggestion(name: string, words: readonly string[]): string {
  const [near] = words
    .map((word) => ({ word, distance: leven(name, word) }))
    .filter(({ word, distance }) => distance <= Math.max(2, Math.floor(word.length / 4)))
    .toSorted((a, b) => a.distance - b.distance);
  return near === undefined ? '' : ` (did you mean ${near.word}?)`;
}
