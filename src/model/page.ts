/**
 * A page of a list as the service answered it, proven to be a complete list envelope (specification 2.5, invariant 2):
 * nothing else is ever called a page.
 */
export interface Page {
  readonly items: readonly Item[];
  /** As answered; undefined if the envelope has no boolean `has_more`. */
  readonly hasMore: boolean | undefined;
  /**
   * The server's own cursor (`next_cursor`), preferred to the last item's ID. Null: the server says that no page
   * follows; undefined: the envelope has no such field.
   */
  readonly nextCursor: string | null | undefined;
  /** Left out if unknown. */
  readonly served?: Served;
  /**
   * Content hashes of the items, hexadecimal. Those of a body that came before are not computed again; if this is left
   * out, they always are.
   * @param rule name of the rule by which `make` computes them
   */
  readonly hashes?: (rule: string, make: () => string[]) => readonly string[];
}

/** An answer's own statement of its freshness. */
export interface Served {
  /** Its `Date`: milliseconds by the service's clock, whole seconds; undefined without a readable one. */
  readonly date: number | undefined;
  /** Its `Age`, ms: its time in caches between us and the service; 0 without one. */
  readonly ageMs: number;
}

/** Whether a cache gave the answer and says so. */
export function isCopy(served: Served | undefined): boolean {
  return served !== undefined && served.ageMs > 0;
}

/** Upper bound of the answer's time in caches, ms. */
export function ageOf({ served }: { readonly served?: Served }): number {
  // The header has whole seconds.
  return served !== undefined && isCopy(served) ? served.ageMs + 1_000 : 0;
}

/** Which part of its list a page shows. */
export interface PagePlace {
  /** The key before its first item; null: it begins at the top; undefined: unknown. */
  readonly after: string | null | undefined;
  /** Nothing follows it. A page that also begins at the top is the whole list. */
  readonly ends: boolean;
}

/**
 * One item. The value of JSON.parse is not kept: its numbers may have lost digits, and a page of such values that waits
 * for Postgres would outlive the young generation of the heap.
 */
export interface Item {
  /** The item's JSON text, cut out of the response's body: no digit or spelling is lost. */
  readonly source: string;
  readonly state: StateClass;
  /** Cursor ID as stored and echoed; undefined if the item has no usable one (`problem` says why). */
  readonly key: string | undefined;
  /** Why the item can't be stored under a key, to follow "the item …"; undefined for a good key. */
  readonly problem: string | undefined;
}

/**
 * Class of a state, which is open text. It decides how often the row is read again (docs/design/walks.md). `failed`
 * sounds final, but services retry.
 */
type StateClass = 'finished' | 'failed' | 'open';

const FINISHED = new Set(
  (
    'analysed analyzed archived canceled cancelled closed complete completed completed_with_errors deleted done ' +
    'expired finished ok partial_failure partial_success partially_completed ready skipped succeeded success successful'
  ).split(' '),
);
const FAILED = new Set('aborted error errored fail failed failure rejected timed_out timeout'.split(' '));

/**
 * Class of a state as the service sent it: any letter case, words joined by space, hyphen, underscore or camelCase.
 * @param value the item's state; undefined: items without a state count as finished
 */
export function stateClass(value: unknown): StateClass {
  if (value === undefined) return 'finished';
  if (typeof value !== 'string') return 'open';
  // The usual spelling, without the work below.
  if (FINISHED.has(value)) return 'finished';
  const word = value
    .trim()
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1_$2')
    .replaceAll(/[\s-]+/g, '_')
    .toLowerCase();
  if (FINISHED.has(word)) return 'finished';
  return FAILED.has(word) ? 'failed' : 'open';
}

/** @param fields an item as JSON.parse gives it */
export function stateOf(fields: Readonly<Record<string, unknown>>): StateClass {
  return stateClass(fields['status'] ?? fields['state']);
}
