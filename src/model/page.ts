import { hash } from 'node:crypto';

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

/** Size of the cache for all accounts of a process: keys and hashes of about half a million rows. */
const MOST_BYTES = 24 * 1024 * 1024;
/** Estimated size of an entry without its texts. */
const ENTRY_BYTES = 400;
const HASH_BYTES = 16;

/** What the cache keeps of a body: all that a walk needs of it. */
interface KnownPage extends Pick<Page, 'hasMore' | 'nextCursor'> {
  /** Separated by line feeds, which no key contains. */
  readonly keys: string;
  /** Concatenated content hashes, by the rule of hashing. */
  readonly hashes: Map<string, Buffer>;
  /** Estimated. */
  bytes: number;
}

/**
 * Cache of bodies. A body that comes again, byte for byte, is neither parsed, cut into items nor hashed, unless an
 * item's text is needed. Its rows are still compared with Postgres like any page's, so there is nothing to invalidate.
 * Pages with an item without a usable key are not cached. The least recently used body goes first.
 */
export class KnownPages {
  readonly #most: number;
  /** Least recently used first. */
  readonly #known = new Map<string, KnownPage>();
  #bytes = 0;

  constructor(most = MOST_BYTES) {
    this.#most = most;
  }

  /** @param kind what else decides how the text is read @throws what `read` throws */
  read(text: string, kind: string, read: (text: string) => Page): Page {
    const name = `${kind} ${hash('sha256', text, 'base64')}`;
    const known = this.#known.get(name);
    if (known === undefined) {
      const page = read(text);
      const made = remembered(page);
      if (made !== undefined) this.#add(name, made, 0);
      return made === undefined ? page : { ...page, hashes: this.#hashesOf(name, made) };
    }
    this.#add(name, known, 0);
    const { keys, hasMore, nextCursor } = known;
    let late: readonly Item[] | undefined;
    const itemAt = (index: number): Item => {
      late ??= read(text).items;
      const item = late[index];
      if (item === undefined) throw new RangeError(`the body has no item ${index}`);
      return item;
    };
    // The body is read again when an item is asked for more than its key.
    const items = (keys === '' ? [] : keys.split('\n')).map((key, index): Item => ({
      key,
      problem: undefined,
      get source() {
        return itemAt(index).source;
      },
      get state() {
        return itemAt(index).state;
      },
    }));
    return { items, hasMore, nextCursor, hashes: this.#hashesOf(name, known) };
  }

  #hashesOf(name: string, known: KnownPage): NonNullable<Page['hashes']> {
    return (rule, make) => {
      const before = known.hashes.get(rule);
      if (before !== undefined) return unpack(before);
      const hashes = make();
      // Buffer.from would take a piece of a shared 64 KB block, which lives as long as any of its pieces.
      const bytes = Buffer.allocUnsafeSlow(hashes.length * HASH_BYTES);
      bytes.write(hashes.join(''), 'hex');
      known.hashes.set(rule, bytes);
      if (this.#known.get(name) === known) this.#add(name, known, bytes.length);
      return hashes;
    };
  }

  /** Makes the page the most recently used one. @param more bytes by which it has grown */
  #add(name: string, page: KnownPage, more: number): void {
    this.#forget(name);
    page.bytes += more;
    this.#known.set(name, page);
    this.#bytes += page.bytes;
    for (const oldest of this.#known.keys()) {
      if (this.#bytes <= this.#most) break;
      this.#forget(oldest);
    }
  }

  #forget(name: string): void {
    this.#bytes -= this.#known.get(name)?.bytes ?? 0;
    this.#known.delete(name);
  }
}

/** @returns undefined if an item has no usable key */
function remembered({ items, hasMore, nextCursor }: Page): KnownPage | undefined {
  const all = items.map(({ key, problem }) => (problem === undefined ? key : undefined));
  if (!all.every((key) => key !== undefined && key !== '' && !key.includes('\n'))) return undefined;
  // Copied: a slice would keep the whole body in memory.
  const keys = copyOf(all.join('\n'));
  const cursor = nextCursor && copyOf(nextCursor);
  const bytes = ENTRY_BYTES + 2 * (keys.length + (cursor?.length ?? 0));
  return { keys, hasMore, nextCursor: cursor, hashes: new Map(), bytes };
}

function unpack(bytes: Buffer): string[] {
  const digits = bytes.toString('hex');
  const hashes: string[] = [];
  for (let at = 0; at < digits.length; at += 2 * HASH_BYTES) {
    hashes.push(digits.slice(at, at + 2 * HASH_BYTES));
  }
  return hashes;
}

function copyOf(text: string): string {
  return Buffer.from(text).toString();
}
