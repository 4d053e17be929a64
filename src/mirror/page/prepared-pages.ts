import type { Item, Page } from '../../model/page.ts';
import type { ColumnRegistry } from '../columns/column-registry.ts';
import type { KeyedItem } from '../rows/classify.ts';
import { contentHash, type ContentRule } from '../rows/content-hash.ts';
import { rowContent, type RowContent } from '../rows/row-payload.ts';

interface Prepared {
  /** Content hash of each item; '' for one without key. */
  readonly hashes: readonly string[];
  /** What is sent of each such item, made for these columns; undefined: most rows will hardly be written. */
  readonly contents: readonly (RowContent | undefined)[] | undefined;
  readonly columns: ColumnRegistry['columns'] | undefined;
}

/**
 * What takes long of a page and needs no look into Postgres: its hashes and, where the page before it was mostly
 * new, what is sent of its rows. It is made when the page comes, while Postgres writes the one before.
 */
export class PreparedPages {
  readonly #collection: string;
  readonly #rule: ContentRule;
  readonly #pages = new WeakMap<readonly Item[], Prepared>();
  #mostlyNew = false;

  constructor(collection: string, rule: ContentRule) {
    this.#collection = collection;
    this.#rule = rule;
  }

  /** @param registry of the columns, as far as it is known */
  prepare(page: Pick<Page, 'items' | 'hashes'>, registry: ColumnRegistry | undefined): void {
    const { items } = page;
    const columns = this.#mostlyNew ? registry?.columns : undefined;
    const hash = (): string[] =>
      items.map(({ key, source }) => (key === undefined ? '' : contentHash(source, this.#rule)));
    const hashes = page.hashes?.(this.#rule.name, hash) ?? hash();
    const contents =
      columns === undefined
        ? undefined
        : items.map((item, index) => {
            const { key } = item;
            if (key === undefined) return undefined;
            const row = { key, hash: hashes[index] ?? '', item };
            return rowContent(row, this.#rule.exclude, this.#collection, columns);
          });
    this.#pages.set(items, { hashes, contents, columns });
  }

  /** Undefined where the page was not prepared. */
  hashesOf(items: readonly Item[]): readonly string[] | undefined {
    return this.#pages.get(items)?.hashes;
  }

  contentOf(items: readonly Item[], row: KeyedItem, columns: ColumnRegistry['columns']): RowContent {
    const prepared = this.#pages.get(items);
    const content = prepared?.columns === columns ? prepared.contents?.[row.index] : undefined;
    return content ?? rowContent(row, this.#rule.exclude, this.#collection, columns);
  }

  /** A page was written. @param rows of it that were */
  noteWritten(items: readonly Item[], rows: number): void {
    this.#mostlyNew = rows * 2 > items.length;
    this.#pages.delete(items);
  }
}
