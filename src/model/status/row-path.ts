import { collection, type CollectionName } from '../collections.ts';

/** Stands before a part of a path that a browser would take for a step (`.`, `..`), or that begins with it. */
const ESCAPE = '~';

/**
 * Where the status page shows a row: `rows/42/list_items/7/a%2Fb`. Relative to `/`, as all links of the page are: a
 * proxy may serve it elsewhere.
 * @param key as the view `changes` has it: that of an item is `<list_id>:<id>`, that of `account` its `_user_id`
 */
export function changedRowPath(userId: string, name: CollectionName, key: string): string {
  return ['rows', userId, name, ...partsOf(name, key).map(pathPart)].join('/');
}

/** The values of the key's columns after `_user_id`. */
function partsOf(name: CollectionName, key: string): string[] {
  const entry = collection(name);
  if (entry.kind === 'single') return [];
  if (entry.parent === undefined) return [key];
  const colon = key.indexOf(':');
  return [key.slice(0, colon), key.slice(colon + 1)];
}

function pathPart(text: string): string {
  const escaped = text === '.' || text === '..' || text.startsWith(ESCAPE) ? ESCAPE + text : text;
  return encodeURIComponent(escaped);
}
