/** How far a walk has read: what every walk's state holds. */
export interface Reading {
  /** Cursor of the page to ask next; null: the top. */
  readonly cursor: string | null;
  /** `cursor` is one that the server offered (`next_cursor`), not an item's key: it can't be compared. */
  readonly token: boolean;
  /** n > 0: before the page, look up the nth stored live row before `cursor` and go on after that. */
  readonly seek: number;
  /** Keys read last, the newest last: the previous five, by which the ladder goes back, and the last. */
  readonly recent: readonly string[];
  /** Steps back on the cursor ladder since the last progress. */
  readonly rung: number;
  /** Times that it began again from the top. */
  readonly restarts: number;
  /** First key of its first page. */
  readonly first: string | null;
  /** When it was begun (of its first page: asked), milliseconds since the epoch. */
  readonly began: number;
  /** When the first page was answered. */
  readonly firstAt: number;
  /** Distinct rows seen in key order without a break, up to 20. */
  readonly run: number;
  /** `limit` being tried in place of the remembered one; undefined: none. */
  readonly trying: number | null | undefined;
  readonly pages: number;
  readonly items: number;
}
