import { collection, COLLECTIONS, type CollectionName, type KeyType } from '../collections.ts';
import { MAX_TEXT_KEY_BYTES, readKey } from '../key.ts';

/** Which row of the mirror is meant. */
export interface RowAddress {
  /** Decimal digits of a bigint. */
  readonly userId: string;
  readonly collection: CollectionName;
  /** As in the view `changes`: that of a list's item is `<list_id>:<id>`, that of `account` its `_user_id`. */
  readonly key: string;
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
  return parts.includes(undefined)
    ? undefined
    : { userId: user, collection: entry.name, key: parts.join(':') };
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
