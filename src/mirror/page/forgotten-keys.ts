import type { Db } from '../../db/connection/db.ts';
import { collection, type Scope } from '../../model/collections.ts';
import { forgottenHash } from '../../model/forgotten-key.ts';
import type { Item } from '../../model/page.ts';

/**
 * What of a page was forgotten on request, by its hash: the keys themselves are nowhere any more.
 * @returns `keys` of items, and whether `parent` was, the list whose items these are
 */
export async function forgottenAmong(
  db: Db,
  scope: Scope,
  items: readonly Pick<Item, 'key'>[],
): Promise<{ readonly keys: ReadonlySet<string>; readonly parent: boolean }> {
  const { userId, collection: name, parent } = scope;
  // No key is ''.
  const byHash = new Map(items.map(({ key = '' }) => [forgottenHash(scope, key), key]));
  const found = collection(name);
  const parents = found.kind === 'list' ? found.parent?.collection : undefined;
  const list = parents && forgottenHash({ userId, collection: parents, parent: '' }, parent);
  const { rows } = await db.sql<{ hash: string }>`
    select encode(f.key_hash, 'hex') as hash from ${db.table('forgotten')} as f
    where f._user_id = ${userId}::bigint and f.collection = any(${[name, parents]}::text[])
      and f.key_hash = any(array(
        select decode(x.hash, 'hex') from unnest(${[...byHash.keys(), list]}::text[]) as x (hash)))`;
  return {
    keys: new Set(rows.flatMap(({ hash }) => byHash.get(hash) ?? [])),
    parent: rows.some(({ hash }) => hash === list),
  };
}
