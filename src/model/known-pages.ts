import { hash } from 'node:crypto';
import type { Item, Page } from './page.ts';

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
