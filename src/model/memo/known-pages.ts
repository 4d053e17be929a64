import { hash } from 'node:crypto';
import { BoundedMemo } from './bounded-memo.ts';
import type { Item, Page } from '../page.ts';

/** Bytes that may be remembered, by all accounts of a process: keys of a million rows or so. */
const MOST_BYTES = 16 * 1024 * 1024;

/** What is remembered of a body: all that a walk asks of it, and the keys of its items. */
interface KnownPage extends Pick<Page, 'hasMore' | 'nextCursor'> {
  /** Separated by line feeds, which no key contains. */
  readonly keys: string;
}

/**
 * Bodies that were read before. What a body says depends on its text alone: one that comes again, byte for byte, is
 * neither parsed nor cut into items, unless somebody asks for an item's text. Everything that follows is as for any
 * page: what Postgres holds is compared with it anew, so no condition is attached. Pages with an item that has no
 * usable key are always read.
 */
export class KnownPages {
  readonly #known = new BoundedMemo<KnownPage>(MOST_BYTES);

  /**
   * @param kind what else decides how the text is read
   * @param read reads the text @throws what it throws
   */
  read(text: string, kind: string, read: (text: string) => Page): Page {
    const digest = hash('sha256', text, 'base64');
    const name = `${kind} ${digest}`;
    const known = this.#known.get(name);
    if (known === undefined) {
      const page = read(text);
      this.#remember(name, page);
      return { ...page, digest };
    }
    const { keys, hasMore, nextCursor } = known;
    const body = new LateBody(text, read);
    const items = keys === '' ? [] : keys.split('\n').map((key, index) => new LateItem(body, index, key));
    return { items, hasMore, nextCursor, digest };
  }

  #remember(name: string, { items, hasMore, nextCursor }: Page): void {
    const keys = items.map(({ key, problem }) => (problem === undefined ? key : undefined));
    if (!keys.every((key) => key !== undefined && key !== '' && !key.includes('\n'))) return;
    // Copied: a slice would keep the whole body in memory.
    const copies = { keys: copyOf(keys.join('\n')), nextCursor: nextCursor && copyOf(nextCursor) };
    const bytes = 2 * (copies.keys.length + (nextCursor?.length ?? 0));
    this.#known.set(name, { hasMore, ...copies }, bytes);
  }
}

function copyOf(text: string): string {
  return Buffer.from(text).toString();
}

/** A body that is read when somebody asks. */
class LateBody {
  readonly #text: string;
  readonly #read: (text: string) => Page;
  #items: readonly Item[] | undefined;

  constructor(text: string, read: (text: string) => Page) {
    this.#text = text;
    this.#read = read;
  }

  item(index: number): Item {
    this.#items ??= this.#read(this.#text).items;
    const item = this.#items[index];
    if (item === undefined) throw new RangeError(`the body has no item ${index}`);
    return item;
  }
}

/** An item of a body that was read before. */
class LateItem implements Item {
  readonly #body: LateBody;
  readonly #index: number;
  readonly key: string;
  readonly problem = undefined;

  constructor(body: LateBody, index: number, key: string) {
    this.#body = body;
    this.#index = index;
    this.key = key;
  }

  get source(): string {
    return this.#body.item(this.#index).source;
  }

  get state(): Item['state'] {
    return this.#body.item(this.#index).state;
  }
}
