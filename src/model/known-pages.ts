import { hash } from 'node:crypto';
import type { Item, Page } from './page.ts';

/** Bytes that may be remembered, by all accounts of a process: keys and hashes of half a million rows or so. */
const MOST_BYTES = 24 * 1024 * 1024;
/** What an entry takes besides its texts, about. */
const ENTRY_BYTES = 400;
/** Of a content hash. */
const HASH_BYTES = 16;

/** What is remembered of a body: all that a walk asks of it, the keys of its items, and their content hashes. */
interface KnownPage extends Pick<Page, 'hasMore' | 'nextCursor'> {
  /** Separated by line feeds, which no key contains. */
  readonly keys: string;
  /** One behind another, by the rule of hashing. */
  readonly hashes: Map<string, Buffer>;
  /** About. */
  bytes: number;
}

/**
 * Bodies that were read before. What a body says depends on its text alone: one that comes again, byte for byte, is
 * neither parsed, cut into items nor hashed, unless an item is asked for its text. Everything that follows is as for any
 * page: what Postgres holds is compared with it anew, so no condition is attached. Pages with an item that has no
 * usable key are always read. What was not asked for longest is forgotten first.
 */
export class KnownPages {
  readonly #most: number;
  /** In the order in which they came last. */
  readonly #known = new Map<string, KnownPage>();
  #bytes = 0;

  constructor(most = MOST_BYTES) {
    this.#most = most;
  }

  /**
   * @param kind what else decides how the text is read
   * @param read reads the text @throws what it throws
   */
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
    const items = keys === '' ? [] : keys.split('\n').map((key, index) => new LateItem(itemAt, index, key));
    return { items, hasMore, nextCursor, hashes: this.#hashesOf(name, known) };
  }

  #hashesOf(name: string, known: KnownPage): NonNullable<Page['hashes']> {
    return (rule, make) => {
      const before = known.hashes.get(rule);
      if (before !== undefined) return unpack(before);
      const hashes = make();
      // Memory of its own: what Buffer.from gives is a piece of 64 KB, which lasts as long as any of its pieces.
      const bytes = Buffer.allocUnsafeSlow(hashes.length * HASH_BYTES);
      bytes.write(hashes.join(''), 'hex');
      known.hashes.set(rule, bytes);
      if (this.#known.get(name) === known) this.#add(name, known, bytes.length);
      return hashes;
    };
  }

  /** Makes the page the latest one. @param more bytes that it takes now */
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

/** What is to be remembered of a page; undefined: an item has no usable key. */
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

/** An item of a body that was read before: that is read again when somebody asks for more than the key. */
class LateItem implements Item {
  readonly #itemAt: (index: number) => Item;
  readonly #index: number;
  readonly key: string;
  readonly problem = undefined;

  constructor(itemAt: (index: number) => Item, index: number, key: string) {
    this.#itemAt = itemAt;
    this.#index = index;
    this.key = key;
  }

  get source(): string {
    return this.#itemAt(this.#index).source;
  }

  get state(): Item['state'] {
    return this.#itemAt(this.#index).state;
  }
}
