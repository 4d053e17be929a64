import type { Item } from '../../model/page.ts';
import { itemHash } from './update-quarantine.ts';
import type { RefusedItem } from '../page-write.ts';

/** Remembered at most; the oldest goes first. A forgotten item is tried, refused and remembered again. */
const MAX_REMEMBERED = 10_000;

/** Items whose text Postgres refused, so that the next page with them is not written twice to find them again. */
export class RefusedItems {
  readonly #reasons = new Map<string, string>();

  reason(item: Item): string | undefined {
    return this.#reasons.size === 0 ? undefined : this.#reasons.get(itemHash(item.source));
  }

  forget(items: readonly Item[]): void {
    for (const item of items) this.#reasons.delete(itemHash(item.source));
  }

  remember(rows: readonly RefusedItem[]): void {
    for (const { item, reason, hopeless } of rows) {
      if (hopeless) this.#reasons.set(itemHash(item.source), reason);
    }
    for (const hash of this.#reasons.keys()) {
      if (this.#reasons.size <= MAX_REMEMBERED) break;
      this.#reasons.delete(hash);
    }
  }
}
