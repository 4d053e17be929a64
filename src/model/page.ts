import type { StateClass } from './row-state.ts';

/**
 * A page of a list as the service answered it, proven to be a complete list envelope (specification 2.5,
 * invariant 2): nothing else is ever called a page.
 */
export interface Page {
  readonly items: readonly Item[];
  /** As answered; undefined where the envelope has no boolean `has_more`. */
  readonly hasMore: boolean | undefined;
  /**
   * The server's own cursor (`next_cursor`), preferred to the last item's ID. Null: the server says that no page
   * follows; undefined: the envelope has no such field.
   */
  readonly nextCursor: string | null | undefined;
  /** Left out: nothing is known of it. */
  readonly served?: Served;
  /**
   * Content hashes of the items, hexadecimal digits: those of a body that came before are not made again. Left out: they
   * are made each time.
   * @param rule the name of the rule by which `make` makes them
   */
  readonly hashes?: (rule: string, make: () => string[]) => readonly string[];
}

/** What an answer says of its freshness. */
export interface Served {
  /** Its `Date`: milliseconds by the service's clock, whole seconds; undefined without a readable one. */
  readonly date: number | undefined;
  /** Its `Age` (ms): how long a cache between us and the service kept it; 0 without one. */
  readonly ageMs: number;
}

/** A cache gave the answer, and says so. */
export function isCopy(served: Served | undefined): boolean {
  return served !== undefined && served.ageMs > 0;
}

/** How long (ms) a cache kept the answer. */
export function ageOf({ served }: { readonly served?: Served }): number {
  // The header has whole seconds.
  return served !== undefined && isCopy(served) ? served.ageMs + 1_000 : 0;
}

/** Which part of its list a page shows. */
export interface PagePlace {
  /** The key before its first item; null: it begins at the top; undefined: not known. */
  readonly after: string | null | undefined;
  /** Nothing follows it. A page that begins at the top is then the whole list. */
  readonly ends: boolean;
}

/**
 * One item. What JSON.parse made of it is not kept: numbers may have lost digits there, and all that of a page, while the
 * page waits for Postgres, would outlive the young generation of the heap.
 */
export interface Item {
  /** The item's JSON text, cut out of the response's body: it loses no digit or spelling. */
  readonly source: string;
  readonly state: StateClass;
  /** Cursor ID as stored and echoed; undefined where the item has no usable one (then `problem` says why). */
  readonly key: string | undefined;
  /** Why the item can't be stored under a key, to follow "the item …"; undefined for a good key. */
  readonly problem: string | undefined;
}
