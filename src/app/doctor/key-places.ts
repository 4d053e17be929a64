import { ordinal } from '@research-mirror/runtime/figures';

/** Where a key stands in MIRROR_API_KEY, in words that show nothing of it. @param index from 0 */
export function keyPlace(index: number, count: number): string {
  return count === 1 ? 'the key in MIRROR_API_KEY' : `the ${ordinal(index + 1)} of MIRROR_API_KEY`;
}

/** The same of several: `the 1st and 3rd of MIRROR_API_KEY`. @param indices rising, from 0 */
export function keyPlaces(indices: readonly number[], count: number): string {
  if (count === 1) return keyPlace(0, 1);
  const words = indices.map((index) => ordinal(index + 1));
  const last = words.at(-1) ?? '';
  const before = words.slice(0, -1).join(', ');
  return `the ${before === '' ? last : `${before} and ${last}`} of MIRROR_API_KEY`;
}
