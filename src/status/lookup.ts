import { collection, COLLECTIONS, type CollectionName, type KeyType } from '../model/collections.ts';
import { MAX_TEXT_KEY_BYTES, readKey } from '../model/key.ts';

export interface RowAddress {
  /** Decimal digits of a bigint. */
  readonly userId: string;
  readonly collection: CollectionName;
  /** As in the view `changes`: `<list_id>:<id>` for a list's item, `_user_id` for `account`. */
  readonly key: string;
}

/**
 * A search result, or a row of a list. `by`: what names the row (`event evt_1`, `submission 5`), null: it is the row
 * itself; `name`: the item's own; `state`: `deleted`, or its own status; `at`: when it last changed, was deleted,
 * received or queued.
 */
export interface Hit
  extends
    Readonly<Record<'userId' | 'at', string>>,
    Readonly<Record<'by' | 'name' | 'state', string | null>> {
  /** Undefined if no such row can exist. */
  readonly row: RowAddress | undefined;
}

/** A row, or its last version if it is removed. */
export interface RowStory {
  /** The database's time. */
  readonly at: string;
  /** `absent`: nothing is mirrored under this key, but something names it. */
  readonly state: 'live' | 'deleted' | 'absent';
  /** Past and planned: lines of `row_story` that belong together, and the daemon's own. The newest first. */
  readonly timeline: readonly (Readonly<Record<'at' | 'what', string>> & {
    readonly by: string | null;
    readonly more: Readonly<Record<string, unknown>> | null;
    /** Before and after as JSON text, which may be cut; null: the item did not have the field. */
    readonly fields: readonly Readonly<Record<'field' | 'before' | 'after', string | null>>[];
  })[];
  /** Older entries are left out. */
  readonly more: boolean;
  /** Columns with a value. */
  readonly columns: readonly Readonly<Record<'name' | 'value', string>>[];
  /** The whole item as JSON text, which may be cut. */
  readonly raw: string | null;
}

/** Checks and normalizes the parts. @returns undefined if no such row can exist */
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

/** Relative address of the row's page: `rows?user=42&collection=list_items&key=7%3Aa`. */
export function rowPath({ userId: user, collection: name, key }: RowAddress): string {
  return `rows?${String(new URLSearchParams({ user, collection: name, key }))}`;
}

/** The key as stored; undefined if the text is no key. */
export function keyOf(type: KeyType, text: string): string | undefined {
  const reading = readKey(type, JSON.stringify(text));
  return 'key' in reading ? reading.key : undefined;
}

/** Values of the key's columns after `_user_id`: a list's ID before its item's; none for `account`. */
export function keyParts({ collection: name, key }: Pick<RowAddress, 'collection' | 'key'>): string[] {
  const entry = collection(name);
  if (entry.kind === 'single') return [];
  const colon = key.indexOf(':');
  return entry.parent === undefined || colon === -1 ? [key] : [key.slice(0, colon), key.slice(colon + 1)];
}

/** Longest query, in characters: no ID is longer. */
export const LONGEST_QUERY = MAX_TEXT_KEY_BYTES;
