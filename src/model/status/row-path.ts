/**
 * Where the status page shows a row, from `/`. Relative, as all links of the page are: a proxy may serve it elsewhere.
 * @param key as `mirror.changes` has it: that of an item is `<list_id>:<id>`
 */
export function rowPath(userId: string, collection: string, key: string): string {
  return ['rows', userId, collection, key].map(encodeURIComponent).join('/');
}
