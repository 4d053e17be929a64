import type { WalkAnswer } from '../../../src/walk/walk.ts';

type PageAnswer = Extract<WalkAnswer, { type: 'page' }>;

/** What the specification leaves open about lists (docs/design/open-questions.md, "Lists") and walks depend on. */
export interface SourceVariant {
  /** `updated`, `score`: rows move. `shuffled`: no order, but rows stay where they are. */
  readonly order: 'falling' | 'rising' | 'updated' | 'score' | 'shuffled';
  /**
   * - `keyset`: any ID works
   * - `refused`, `empty`, `ignored`: what happens to a cursor whose row is gone
   * - `inclusive`: the page begins with the cursor's row
   * - `token`: the server offers cursors; `token-only`: it takes no others, and null says that none follows;
   *   `token-or-none`: the same without the null
   */
  readonly cursor:
    | 'keyset'
    | 'inclusive'
    | 'refused'
    | 'empty'
    | 'ignored'
    | 'token'
    | 'token-only'
    | 'token-or-none';
  /** `full`: true when the page was full. */
  readonly hasMore: 'exact' | 'full' | 'missing';
  readonly pageSize: number;
}

interface Row {
  version: number;
  live: boolean;
  /** Time of the last change, or the row's score or place. */
  rank: number;
}

/** A list endpoint in memory, for walks: atomic reads, and operations between them. Keys are positive integers. */
export class WalkSource {
  readonly variant: SourceVariant;
  readonly rows = new Map<number, Row>();
  #time = 0;
  #newest = 0;

  constructor(variant: SourceVariant, count: number) {
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
    this.#time += 1;
    const scrambled = (id * 7919) % 10_007;
    const rank = this.variant.order === 'updated' ? this.#time : scrambled;
    this.rows.set(id, { version: 1, live: true, rank });
  }

  /** The list as it is now, for a cache to answer with later. */
  copy(): WalkSource {
    const copy = new WalkSource(this.variant, 0);
    for (const [id, row] of this.rows) copy.rows.set(id, { ...row });
    return copy;
  }

  /** Changes the `nth` live row (modulo their number), as `updated` and `score` orders do. */
  update(nth: number): void {
    const row = this.#nth(nth);
    if (row === undefined) return;
    this.#time += 1;
    row.version += 1;
    if (this.variant.order === 'updated') row.rank = this.#time;
    if (this.variant.order === 'score') row.rank = (row.rank * 31 + this.#time * 7919) % 10_007;
  }

  delete(nth: number): void {
    const row = this.#nth(nth);
    if (row !== undefined) row.live = false;
  }

  liveKeys(): string[] {
    return this.#list().map(String);
  }

  versionOf(key: string): number {
    return this.rows.get(Number(key))?.version ?? 0;
  }

  get(cursor: string | null, limit: number | null): WalkAnswer {
    const all = this.#list();
    const from = this.#begin(all, cursor);
    if (from === 'refused') return { type: 'refused', status: 404, message: 'unknown cursor' };
    const rest = from === 'empty' ? [] : all.slice(from);
    const size = Math.min(this.variant.pageSize, limit ?? 100);
    const keys = rest.slice(0, size).map(String);
    const more = this.variant.hasMore === 'exact' ? rest.length > size : keys.length === size;
    const page: PageAnswer = {
      type: 'page',
      keys,
      hasMore: this.variant.hasMore === 'missing' ? undefined : more,
    };
    const last = keys.at(-1);
    if (!this.variant.cursor.startsWith('token')) return page;
    if (more && last !== undefined) return { ...page, nextCursor: `after:${last}` };
    return this.variant.cursor === 'token-only' ? { ...page, nextCursor: null } : page;
  }

  #begin(all: readonly number[], cursor: string | null): number | 'refused' | 'empty' {
    if (cursor === null) return 0;
    const ids = !this.variant.cursor.startsWith('token-');
    if (!ids && !cursor.startsWith('after:')) return 'refused';
    const id = Number(cursor.replace('after:', ''));
    const at = all.indexOf(id);
    const row = this.rows.get(id);
    const kind = this.variant.cursor;
    if (at >= 0) return kind === 'inclusive' ? at : at + 1;
    if (kind === 'refused' || row === undefined) return 'refused';
    if (kind === 'empty') return 'empty';
    if (kind === 'ignored') return 0;
    const next = all.findIndex((other) => this.#before(id, other));
    return next < 0 ? all.length : next;
  }

  #nth(nth: number): Row | undefined {
    const live = this.#list();
    return this.rows.get(live[nth % Math.max(1, live.length)] ?? -1);
  }

  #list(): number[] {
    const live = [...this.rows].filter(([, row]) => row.live).map(([id]) => id);
    return live.sort((a, b) => (this.#before(a, b) ? -1 : 1));
  }

  #before(a: number, b: number): boolean {
    if (this.variant.order === 'falling') return a > b;
    if (this.variant.order === 'rising') return a < b;
    const [x, y] = [this.rows.get(a)?.rank ?? 0, this.rows.get(b)?.rank ?? 0];
    return x === y ? a > b : x > y;
  }
}
