import { isCopy, type Served } from '../model/page.ts';

/** For how long (ms) a cache on the way had held the answer. */
export function ageOf({ served }: { readonly served?: Served }): number {
  // The header has whole seconds.
  return served !== undefined && isCopy(served) ? served.ageMs + 1_000 : 0;
}
