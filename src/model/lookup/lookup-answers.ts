import type { CollectionName } from '../collections.ts';
import type { RowAddress } from './row-address.ts';

/** What a search finds, or a list of rows has. Moments are ISO 8601, in UTC. */
export interface Found {
  readonly userId: string;
  /** What names the row: `event evt_1`, `submission 5`; null: it is the row itself. */
  readonly by: string | null;
  /** Undefined: none that there can be. */
  readonly row: RowAddress | undefined;
  /** What it says of itself. */
  readonly name: string | null;
  /** `deleted`, or its own status. */
  readonly state: string | null;
  /** When it last changed, was deleted, came or was queued. */
  readonly at: string;
}

export interface SearchResults {
  /** The database's time. */
  readonly at: string;
  readonly found: readonly Found[];
  /** There are others: only a narrower search shows them. */
  readonly more: boolean;
}

/** Which rows of a collection are listed: of a state, and with change IDs below `before`; else all. */
export interface RowFilter {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly state: string | undefined;
  readonly before: string | undefined;
}

/** What changed last comes first. */
export interface RowList {
  readonly at: string;
  readonly found: readonly Found[];
  /** The `before` by which the list goes on; undefined: this is its end. */
  readonly next: string | undefined;
}

/** What happened to a row at a moment, or will: lines of `row_story` that belong together, and the daemon's own. */
export interface StoryEntry {
  readonly at: string;
  readonly what: string;
  readonly by: string | null;
  readonly more: Readonly<Record<string, unknown>> | null;
  /** Before and after as JSON text, cut where it is long; null: the item did not have it. */
  readonly fields: readonly Readonly<Record<'field' | 'before' | 'after', string | null>>[];
}

/** A row, or its last version where it is removed. */
export interface RowStory {
  /** The database's time. */
  readonly at: string;
  /** `absent`: nothing is mirrored under this key, but something names it. */
  readonly state: 'live' | 'deleted' | 'absent';
  /** The newest first. */
  readonly timeline: readonly StoryEntry[];
  /** Older entries are left out. */
  readonly more: boolean;
  /** Those without a value are left out. */
  readonly columns: readonly Readonly<Record<'name' | 'value', string>>[];
  /** The whole item as JSON text, cut where it is long. */
  readonly raw: string | null;
}
