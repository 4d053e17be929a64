import type { Db } from '../../db/connection/db.ts';
import { collection, type Scope } from '../../model/collections.ts';
import { forgottenHash } from '../../model/forgotten-key.ts';
import type { Item } from '../../model/page.ts';

/** What of a page was forgotten on request. */
export interface ForgottenItems {
  readonly keys: ReadonlySet<string>;
  /** The list whose items these are. */
  readonly parent: boolean;
}

export const NONE_FORGOTTEN: ForgottenItems = { keys: new Set(), parent: false };

/** By their hashes: the keys themselves are nowhere any more. */
export async function forgottenAmong(
  db: Db,
  scope: Scope,
  items: readonly Pick<Item, 'key'>[],
): Promise<ForgottenItems> {
  const keys = [...new Set(items.flatMap(({ key }) => key ?? []))];
  const byHash = new Map(keys.map((key) => [forgottenHash(scope, key), key]));
  const parent = parentOf(scope);
  const { rows } = await db.sql<{ collection: string; hash: string }>`
    select f.collection, encode(f.key_hash, 'hex') as hash from ${db.table('forgotten')} as f
    where f._user_id = ${scope.userId}::bigint and (
      f.collection = ${scope.collection} and f.key_hash = any(array(
        select decode(x.hash, 'hex') from unnest(${[...byHash.keys()]}::text[]) as x (hash)))
      or f.collection = ${parent?.collection ?? null} and f.key_hash = decode(${parent?.hash ?? ''}, 'hex'))`;
  return {
    keys: new Set(
      rows.flatMap((row) => (row.collection === scope.collection ? (byHash.get(row.hash) ?? []) : [])),
    ),
    parent: rows.some((row) => row.collection === parent?.collection),
  };
}

/** The row that the scope belongs to. */
function parentOf(scope: Scope): { readonly collection: string; readonly hash: string } | undefined {
  const found = collection(scope.collection);
  if (found.kind === 'single' || found.parent === undefined) return undefined;
  const { collection: name } = found.parent;
  return {
    collection: name,
    hash: forgottenHash({ userId: scope.userId, collection: name, parent: '' }, scope.parent),
  };
}
