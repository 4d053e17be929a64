/**
 * A page of a list as the service answered it, proven to be a complete list envelope (specification 2.5,
 * invariant 2): nothing else is ever called a page.
 */
export interface Page {
  readonly items: readonly Item[];
  /** As answered; undefined where the envelope has no boolean `has_more`. */
  readonly hasMore: boolean | undefined;
  /**
   * A cursor that the server offers by itself (`next_cursor`), preferred to the last item's ID. Null: it says that there
   * is none; undefined: it says nothing of cursors.
   */
  readonly nextCursor: string | null | undefined;
  /** Left out: nothing is known of it. */
  readonly served?: Served;
}

/** How fresh an answer says that it is. */
export interface Served {
  /** Its `Date`: milliseconds by the service's clock, whole seconds; undefined where there is none that can be read. */
  readonly date: number | undefined;
  /** Its `Age`: milliseconds for which a cache on the way had held it; 0 where none did. */
  readonly ageMs: number;
}

/** A cache on the way gave the answer, and says so. */
export function isCopy(served: Served | undefined): boolean {
  return served !== undefined && served.ageMs > 0;
}

/** For how long (ms) a cache on the way had held the answer. */
export function ageOf({ served }: { readonly served?: Served }): number {
  // The header has whole seconds.
  return served !== undefined && isCopy(served) ? served.ageMs + 1_000 : 0;
}

/** Where a page stands in its list. */
export interface PagePlace {
  /** The key that its first item follows; null: it begins at the top; undefined: not known. */
  readonly after: string | null | undefined;
  /** It shows that nothing follows it. From the top on, it is then the whole list. */
  readonly ends: boolean;
}

/** One item: its own source text, from which no digit or spelling is lost, and what JSON.parse makes of it. */
export interface Item {
  /** The item's JSON text, cut out of the response's body. */
  readonly source: string;
  /** Its fields as JSON.parse sees them (numbers may have lost digits: `source` is the truth). */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Cursor ID as stored and echoed; undefined where the item has no usable one (then `problem` says why). */
  readonly key: string | undefined;
  /** Why the item can't be stored under a key, to follow "the item …"; undefined for a good key. */
  readonly problem: string | undefined;
}
