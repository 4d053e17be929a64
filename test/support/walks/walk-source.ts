import type { WalkAnswer } from '../../../src/walk/walk.ts';

export const CURSORS = [
  'keyset',
  'inclusive',
  'refused',
  'empty',
  'ignored',
  'token',
  'token-only',
  'token-or-none',
] as const;
export const HAS_MORE = ['exact', 'full', 'missing'] as const;

/** What the specification leaves open about lists (docs/design/open-questions.md, "Lists") and walks depend on. */
export interface ListVariant {
  /**
   * `updated`: a changed row goes to the top. `score`: rows move up and down, and their content shows it; `rank`: it
   * does not. `shuffled`: no order, but fixed places.
   */
  readonly order: 'falling' | 'rising' | 'updated' | 'score' | 'rank' | 'shuffled';
  /**
   * - `keyset`: any ID works
   * - `refused`, `empty`, `ignored`: what happens to a cursor whose row is gone
   * - `inclusive`: the page begins with the cursor's row
   * - `token`: the server offers cursors; `token-only`: it takes no others, and null says that none follows;
   *   `token-or-none`: the same without the null
   */
  readonly cursor: (typeof CURSORS)[number];
  /** `full`: true when the page was full. */
  readonly hasMore: (typeof HAS_MORE)[number];
  readonly pageSize: number;
}

/** A list at one moment. */
export interface ListState {
  /** IDs of all rows that ever were, in list order; those that are gone keep their place. */
  readonly places: readonly number[];
  /** Content of the rows that are there. */
  readonly live: ReadonlyMap<number, number>;
}

/** An atomic read of one page. */
export function readPage(
  { cursor: kind, hasMore, pageSize }: ListVariant,
  list: ListState,
  cursor: string | null,
  limit: number | null,
): WalkAnswer {
  const begin = beginOf(kind, list, cursor);
  if (begin === undefined) return { type: 'refused', status: 404, message: 'unknown cursor' };
  const rest = list.places.slice(begin).filter((id) => list.live.has(id));
  const size = Math.min(pageSize, limit ?? 100);
  const keys = rest.slice(0, size).map(String);
  const more = hasMore === 'exact' ? rest.length > size : keys.length === size;
  const page = { type: 'page' as const, keys, hasMore: hasMore === 'missing' ? undefined : more };
  const last = keys.at(-1);
  if (!kind.startsWith('token')) return page;
  if (more && last !== undefined) return { ...page, nextCursor: `after:${last}` };
  return kind === 'token-only' ? { ...page, nextCursor: null } : page;
}

/** Index in `places` at which a page begins; undefined where the cursor is refused. */
function beginOf(kind: ListVariant['cursor'], { places, live }: ListState, cursor: string | null): number | undefined {
  if (cursor === null) return 0;
  if (kind.startsWith('token-') && !cursor.startsWith('after:')) return undefined;
  const id = Number(cursor.replace('after:', ''));
  const place = places.indexOf(id);
  if (place < 0) return undefined;
  if (kind === 'inclusive') return place;
  if (live.has(id) || kind === 'keyset' || kind.startsWith('token')) return place + 1;
  return { refused: undefined, empty: places.length, ignored: 0 }[kind as 'refused' | 'empty' | 'ignored'];
}

/** A list endpoint in memory, for walks: atomic reads, and operations between them. Keys are positive integers. */
export class WalkSource {
  readonly variant: ListVariant;
  #places: readonly number[] = [];
  readonly #live = new Map<number, number>();
  #newest = 0;
  #moves = 0;

  constructor(variant: ListVariant, count: number) {
    this.variant = variant;
    for (let i = 0; i < count; i += 1) this.insert();
  }

  /** A new row, with the next ID but `skipped` ones, which may appear later (`appear`). */
  insert(skipped = 0): number {
    this.#newest += 1 + skipped;
    this.appear(this.#newest);
    return this.#newest;
  }

  appear(id: number): void {
    this.#live.set(id, 1);
    this.#move(id);
  }

  /** The list as it is now, for a cache to answer with later. */
  copy(): WalkSource {
    const copy = new WalkSource(this.variant, 0);
    copy.#places = this.#places;
    for (const [id, version] of this.#live) copy.#live.set(id, version);
    return copy;
  }

  /** Changes the `nth` live row (modulo their number), as `updated` and `score` orders do. */
  update(nth: number): void {
    const id = this.#nth(nth);
    if (id === undefined) return;
    this.#live.set(id, (this.#live.get(id) ?? 0) + 1);
    if (this.variant.order === 'updated' || this.variant.order === 'score') this.#move(id);
  }

  delete(nth: number): void {
    this.#live.delete(this.#nth(nth) ?? 0);
  }

  liveKeys(): string[] {
    return this.#places.filter((id) => this.#live.has(id)).map(String);
  }

  versionOf(key: string): number {
    return this.#live.get(Number(key)) ?? 0;
  }

  get(cursor: string | null, limit: number | null): WalkAnswer {
    return readPage(this.variant, { places: this.#places, live: this.#live }, cursor, limit);
  }

  #nth(nth: number): number | undefined {
    const live = this.liveKeys();
    return live.length === 0 ? undefined : Number(live[nth % live.length]);
  }

  /** Puts a row where its ID, or its change, has its place. */
  #move(id: number): void {
    const { order } = this.variant;
    const others = this.#places.filter((other) => other !== id);
    this.#moves += 1;
    const scrambled = ((id * 7919 + this.#moves * 31) % 10_007) % (others.length + 1);
    const before =
      order === 'falling' || order === 'rising'
        ? others.findIndex((other) => (order === 'falling' ? id > other : id < other))
        : scrambled;
    const at = order === 'updated' ? 0 : before;
    this.#places = others.toSpliced(at < 0 ? others.length : at, 0, id);
  }
}
