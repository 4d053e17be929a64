import type { Served } from '../model/page.ts';

/** For how long (ms) a cache on the way had held the answer. */
export function ageOf({ served }: { readonly served?: Served }): number {
  // The header has whole seconds.
  return isCopy(served) ? served.ageMs + 1_000 : 0;
}

/** A cache on the way gave it, and says so. */
export function isCopy(served: Served | undefined): served is Served {
  return served !== undefined && served.ageMs > 0;
}
