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

/** Stands before a part of a path that a browser would take for a step (`.`, `..`), or that begins with it. */
const ESCAPE = '~';

/** The path of the row's page, without a slash before it: `rows/42/list_items/7/a%2Fb`. `readRowPath` reads it. */
export function rowPath(row: RowAddress): string {
  return ['rows', row.userId, row.collection, ...keyParts(row).map(pathPart)].join('/');
}

/** @returns undefined where the path names no row that there could be */
export function readRowPath(path: string): RowAddress | undefined {
  const [room, user = '', name = '', ...parts] = path.split('/').map(partOfPath);
  const row = parts.includes(undefined) ? undefined : rowAddress(user, name, parts.join(':'));
  return room === 'rows' && row !== undefined && keyParts(row).length === parts.length ? row : undefined;
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

function pathPart(text: string): string {
  const escaped = text === '.' || text === '..' || text.startsWith(ESCAPE) ? ESCAPE + text : text;
  return encodeURIComponent(escaped);
}

function partOfPath(part: string): string | undefined {
  let text: string;
  try {
    text = decodeURIComponent(part);
  } catch {
    return undefined;
  }
  return text.startsWith(ESCAPE) ? text.slice(ESCAPE.length) : text;
}

/** Characters of what may be searched for: no ID is longer. */
export const LONGEST_QUERY = MAX_TEXT_KEY_BYTES;
