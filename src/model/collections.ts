/**
 * The catalogue: every collection of the service that is mirrored, declared once (specification 4.3).
 * A new collection costs one entry here and one migration.
 */

/** How a key is stored and compared: `bigint` as a signed 64-bit integer, `text` by `compareKeys`. */
export type KeyType = 'bigint' | 'text';

export type CollectionName =
  | 'account'
  | 'research_jobs'
  | 'bulk_research_jobs'
  | 'lists'
  | 'list_items'
  | 'watchlist';

/** A paginated list endpoint. */
export interface ListCollection {
  /** Name of the collection, of its table in Postgres, and in `MIRROR_COLLECTIONS`. */
  readonly name: CollectionName;
  readonly kind: 'list';
  /** Field of an item that is its cursor ID and its primary key (after `_user_id` and the parent's key). */
  readonly keyField: string;
  readonly keyType: KeyType;
  /** Collection whose rows each have a list of this collection, and the column that names the row. */
  readonly parent?: {
    readonly collection: CollectionName;
    readonly column: string;
    readonly keyType: KeyType;
  };
  /** Fields that may have the address of the company that an item is about; the first one that has a domain decides. */
  readonly domainFields?: readonly string[];
  /** Path for one scope; `parent` is the parent row's key, '' where there is none. */
  readonly path: (parent: string) => string;
  /** The path with `{id}` for IDs: the service's limits and our metrics name it so. */
  readonly route: string;
}

/** An endpoint that answers one object: one row an account. */
export interface SingleCollection extends Pick<ListCollection, 'name' | 'route'> {
  readonly kind: 'single';
  readonly path: () => string;
}

export type Collection = ListCollection | SingleCollection;

/** The specification shows no field of these items (docs/design/open-questions.md): the usual names. */
const COMPANY: Pick<ListCollection, 'domainFields'> = {
  domainFields: ['domain', 'company_domain', 'company_url', 'url', 'website'],
};

export const COLLECTIONS: readonly Collection[] = [
  { kind: 'single', name: 'account', path: () => '/v1/account', route: '/v1/account' },
  { ...topList('research_jobs', 'job_id', 'bigint', '/v1/research'), ...COMPANY },
  topList('bulk_research_jobs', 'bulk_job_id', 'bigint', '/v1/research/bulk'),
  topList('lists', 'list_id', 'bigint', '/v1/lists'),
  {
    kind: 'list',
    name: 'list_items',
    ...COMPANY,
    keyField: 'id',
    keyType: 'text',
    parent: { collection: 'lists', column: 'list_id', keyType: 'bigint' },
    path: (parent) => `/v1/lists/${encodeURIComponent(parent)}`,
    route: '/v1/lists/{id}',
  },
  { ...topList('watchlist', 'id', 'text', '/v1/watchlist'), ...COMPANY },
];

/** A list that an account has one of. */
function topList(name: CollectionName, keyField: string, keyType: KeyType, route: string): ListCollection {
  return { kind: 'list', name, keyField, keyType, path: () => route, route };
}

export const COLLECTION_NAMES: readonly CollectionName[] = COLLECTIONS.map((collection) => collection.name);

/** The entry named `name`. @throws RangeError for a name that is not in the catalogue (a defect of ours) */
export function collection(name: string): Collection {
  const found = COLLECTIONS.find((match) => match.name === name);
  if (found === undefined) throw new RangeError(`no collection named ${JSON.stringify(name)}`);
  return found;
}

/** Collections that have a scope for each row of `name` (`list_items` for `lists`). */
export function childrenOf(name: string): readonly ListCollection[] {
  return COLLECTIONS.filter(
    (match): match is ListCollection => match.kind === 'list' && match.parent?.collection === name,
  );
}

/** The rows that have a scope of `lists` each. @throws RangeError where there are none */
export function parentsOf({ name, parent }: ListCollection): Required<ListCollection>['parent'] {
  if (parent === undefined) throw new RangeError(`${name} has no parent`);
  return parent;
}

/** What one walk covers: an account's collection, or one list's items. A row of `<schema>_sync.scope`. */
export interface Scope {
  /** The key's owner: decimal digits of a bigint. */
  readonly userId: string;
  readonly collection: CollectionName;
  /** Key of the parent row (a `list_id`), '' for a scope that covers the whole collection. */
  readonly parent: string;
}

/** A short name for logs and maps: `42/list_items/7`, `42/lists`. */
export function scopeName(scope: Scope): string {
  return scope.parent === ''
    ? `${scope.userId}/${scope.collection}`
    : `${scope.userId}/${scope.collection}/${scope.parent}`;
}
