/** Index of the first element whose number is above `limit`, in an array sorted by it. */
export function firstAbove<T>(sorted: readonly T[], number: (element: T) => number, limit: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    // `middle` lies within the array.
    if (number(sorted[middle] as T) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
