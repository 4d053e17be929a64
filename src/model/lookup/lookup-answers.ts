import type { CollectionName } from '../collections.ts';
import type { RowAddress } from './row-address.ts';

/** What a search finds, or a list of rows has. Moments are ISO 8601, in UTC. */
export interface Found {
  readonly kind: 'row' | 'account' | 'submission' | 'event' | 'company';
  /** How a search found it. */
  readonly by?: 'id' | 'domain';
  readonly userId: string;
  /** Of an event or a submission its ID, of a company its domain, else the row's key. */
  readonly id: string;
  /** Of the row that it is, or names, as in `RowAddress`; null: none. */
  readonly collection: string | null;
  readonly key: string | null;
  /** What it says of itself; of a company, what is mirrored of it. */
  readonly name: string | null;
  /** `deleted`, or its own status. */
  readonly state: string | null;
  /** When it last changed, was deleted, came, was queued, or was researched. */
  readonly at: string | null;
}

export interface SearchAnswer {
  readonly query: string;
  /** The database's time. */
  readonly at: string;
  readonly results: readonly Found[];
  /** There are others: only a narrower search shows them. */
  readonly more: boolean;
}

/** Which rows of a collection are listed: of a state, and with change IDs below `before`; else all. */
export interface RowsAsked {
  readonly userId: string;
  readonly collection: CollectionName;
  readonly state: string | undefined;
  readonly before: string | undefined;
}

/** What changed last comes first. */
export interface RowsAnswer extends RowsAsked {
  readonly at: string;
  readonly rows: readonly (Found & { readonly changeId: string })[];
  /** The `before` by which the list goes on; null: this is its end. */
  readonly next: string | null;
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

export interface RowStory extends RowAddress {
  /** The database's time. */
  readonly at: string;
  /** `absent`: nothing is mirrored under this key, but something names it. */
  readonly state: 'live' | 'deleted' | 'absent';
  /** The newest first. */
  readonly timeline: readonly StoryEntry[];
  /** Older entries are left out. */
  readonly more: boolean;
  /** Of the row, or of its last version where it is removed; those without a value are left out. */
  readonly columns: readonly Readonly<Record<'name' | 'value', string>>[];
  /** The whole item as JSON text, cut where it is long. */
  readonly raw: string | null;
}
