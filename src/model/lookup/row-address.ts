import { collection, COLLECTIONS, type CollectionName, type KeyType } from '../collections.ts';
import { readKey } from '../key.ts';

/** Which row of the mirror is meant. */
export interface RowAddress {
  /** Decimal digits of a bigint. */
  readonly userId: string;
  readonly collection: CollectionName;
  /** The values of the key's columns after `_user_id`: a list's ID before its item's; none for `account`. */
  readonly key: readonly string[];
}

/** Stands before a part of a path that a browser would take for a step (`.`, `..`), or that begins with it. */
const ESCAPE = '~';

/** The path of the row's page, without a slash before it: `rows/42/list_items/7/a%2Fb`. `readRowPath` reads it. */
export function rowPath({ userId, collection: name, key }: RowAddress): string {
  return ['rows', userId, name, ...key.map(pathPart)].join('/');
}

/**
 * The row that a line of the view `changes` is about.
 * @param key as the view has it: that of an item is `<list_id>:<id>`, that of `account` its `_user_id`
 */
export function changedRow(userId: string, name: CollectionName, key: string): RowAddress {
  const [first, ...more] = keyTypes(name);
  if (first === undefined) return { userId, collection: name, key: [] };
  if (more.length === 0) return { userId, collection: name, key: [key] };
  const colon = key.indexOf(':');
  return { userId, collection: name, key: [key.slice(0, colon), key.slice(colon + 1)] };
}

/** @returns undefined where the path names no row that there could be */
export function readRowPath(path: string): RowAddress | undefined {
  const [room, user, name, ...parts] = path.split('/').map(partOfPath);
  const found = COLLECTIONS.find((each) => each.name === name);
  const userId = user === undefined ? undefined : keyOf('bigint', user);
  if (room !== 'rows' || found === undefined || userId === undefined) return undefined;
  const types = keyTypes(found.name);
  const key = parts.map((part, index) => {
    const type = types[index];
    return type === undefined || part === undefined ? undefined : keyOf(type, part);
  });
  if (key.length !== types.length || !key.every((part) => part !== undefined)) return undefined;
  return { userId, collection: found.name, key };
}

/** Of the key's columns after `_user_id`. */
export function keyTypes(name: CollectionName): readonly KeyType[] {
  const entry = collection(name);
  if (entry.kind === 'single') return [];
  return [...(entry.parent === undefined ? [] : [entry.parent.keyType]), entry.keyType];
}

/** The text as a key is stored; undefined where no key reads so. */
export function keyOf(type: KeyType, text: string): string | undefined {
  const reading = readKey(type, JSON.stringify(text));
  return 'key' in reading ? reading.key : undefined;
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
