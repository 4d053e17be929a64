import { collection, COLLECTIONS, type CollectionName, type KeyType } from '../model/collections.ts';
import { MAX_TEXT_KEY_BYTES, readKey } from '../model/key.ts';

/** Which row of the mirror is meant. */
export interface RowAddress {
  /** Decimal digits of a bigint. */
  readonly userId: string;
  readonly collection: CollectionName;
  /** As in the view `changes`: that of a list's item is `<list_id>:<id>`, that of `account` its `_user_id`. */
  readonly key: string;
}

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

/** The row of these, each as it is stored. @returns undefined where there can be no such row */
export function rowAddress(userId: string, name: string, key: string): RowAddress | undefined {
  const entry = COLLECTIONS.find((each) => each.name === name);
  const user = keyOf('bigint', userId);
  if (entry === undefined || user === undefined) return undefined;
  if (entry.kind === 'single') return { userId: user, collection: entry.name, key: user };
  const types = [...(entry.parent === undefined ? [] : [entry.parent.keyType]), entry.keyType];
  const given = keyParts({ collection: entry.name, key });
  const parts = types.map((type, n) => keyOf(type, given[n] ?? ''));
  if (parts.includes(undefined)) return undefined;
  return { userId: user, collection: entry.name, key: parts.join(':') };
}

/** `research_jobs 17`, `list_items a:b of list 7`, `account 42`. */
export function rowName(row: RowAddress): string {
  const [own = row.userId, list] = keyParts(row).toReversed();
  return list === undefined ? `${row.collection} ${own}` : `${row.collection} ${own} of list ${list}`;
}

/** The address of the row's page, without a slash before it: `rows?user=42&collection=list_items&key=7%3Aa`. */
export function rowPath({ userId: user, collection: name, key }: RowAddress): string {
  return `rows?${String(new URLSearchParams({ user, collection: name, key }))}`;
}

/** The text as a key is stored; undefined where no key reads so. */
export function keyOf(type: KeyType, text: string): string | undefined {
  const reading = readKey(type, JSON.stringify(text));
  return 'key' in reading ? reading.key : undefined;
}

/** The values of the key's columns after `_user_id`: a list's ID before its item's, none of `account`. */
export function keyParts({ collection: name, key }: Pick<RowAddress, 'collection' | 'key'>): string[] {
  const entry = collection(name);
  if (entry.kind === 'single') return [];
  const colon = key.indexOf(':');
  return entry.parent === undefined || colon === -1 ? [key] : [key.slice(0, colon), key.slice(colon + 1)];
}

/** Characters of what may be searched for: no ID is longer. */
export const LONGEST_QUERY = MAX_TEXT_KEY_BYTES;
