import type { Item } from '../../model/page.ts';
import { itemHash } from './update-quarantine.ts';
import type { RefusedItem } from '../page-write.ts';

/** Remembered at most; the oldest goes first. A forgotten item is tried, refused and remembered again. */
const MAX_REMEMBERED = 10_000;

/**
 * Items whose text Postgres refused, by list and key, so that the next page with them is not written twice to find them
 * again. A page without such a key is not asked for its items' texts.
 */
export class RefusedItems {
  readonly #refused = new Map<string, { readonly hash: string; readonly reason: string }>();

  reason(parent: string, item: Item): string | undefined {
    const known = this.#refused.get(nameOf(parent, item));
    return known !== undefined && known.hash === itemHash(item.source) ? known.reason : undefined;
  }

  forget(parent: string, items: readonly Item[]): void {
    for (const item of items) this.#refused.delete(nameOf(parent, item));
  }

  remember(parent: string, rows: readonly RefusedItem[]): void {
    for (const { item, reason, hopeless } of rows) {
      if (hopeless) this.#refused.set(nameOf(parent, item), { hash: itemHash(item.source), reason });
    }
    for (const name of this.#refused.keys()) {
      if (this.#refused.size <= MAX_REMEMBERED) break;
      this.#refused.delete(name);
    }
  }
}

/** The parent is a number, or ''. */
function nameOf(parent: string, { key }: Item): string {
  return `${parent} ${key ?? ''}`;
}
