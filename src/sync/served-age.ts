import type { Served } from '../model/page.ts';

/** For how long (ms) a cache on the way had held the answer. */
export function ageOf({ served }: { readonly served?: Served }): number {
  // The header has whole seconds.
  return served === undefined || served.ageMs === 0 ? 0 : served.ageMs + 1_000;
}
