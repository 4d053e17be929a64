/** The catalogue of collections (specification 4.3). A new collection costs one entry here and one migration. */

/** How a key is stored and compared: `bigint` as a signed 64-bit integer, `text` by `compareKeys`. */
export type KeyType = 'bigint' | 'text';

export type CollectionName = 'account' | 'research_jobs' | 'bulk_research_jobs' | 'lists' | 'list_items' | 'watchlist';

/** A paginated list endpoint. */
export interface ListCollection {
  /** Also the name of its table, and its word in `MIRROR_COLLECTIONS`. */
  readonly name: CollectionName;
  readonly kind: 'list';
  /** Field with an item's cursor ID, its primary key after `_user_id` and the parent's key. */
  readonly keyField: string;
  readonly keyType: KeyType;
  /** Collection whose rows have one list of this collection each, and the column that names the row. */
  readonly parent?: {
    readonly collection: CollectionName;
    readonly column: string;
    readonly keyType: KeyType;
  };
  /** Fields that may have the address of the item's company; the first one with a domain counts. */
  readonly domainFields?: readonly string[];
  /** Path of a scope; `parent` is the parent row's key, '' without one. */
  readonly path: (parent: string) => string;
  /** The path with `{id}` for IDs, as rate limits and metrics name it. */
  readonly route: string;
}

/** An endpoint that answers one object: one row per account. */
export interface SingleCollection extends Pick<ListCollection, 'name' | 'route'> {
  readonly kind: 'single';
  readonly path: () => string;
}

export type Collection = ListCollection | SingleCollection;

/** The usual names: the specification shows no field of these items (docs/design/open-questions.md). */
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

function topList(name: CollectionName, keyField: string, keyType: KeyType, route: string): ListCollection {
  return { kind: 'list', name, keyField, keyType, path: () => route, route };
}

export const COLLECTION_NAMES: readonly CollectionName[] = COLLECTIONS.map((collection) => collection.name);

/** @throws RangeError for a name that is not in the catalogue (a defect of ours) */
export function collection(name: string): Collection {
  const found = COLLECTIONS.find((match) => match.name === name);
  if (found === undefined) throw new RangeError(`no collection named ${JSON.stringify(name)}`);
  return found;
}

/** Collections with one scope per row of `name` (`list_items` for `lists`). */
export function childrenOf(name: string): readonly ListCollection[] {
  return COLLECTIONS.filter(
    (match): match is ListCollection => match.kind === 'list' && match.parent?.collection === name,
  );
}

/** @throws RangeError if the collection has no parent */
export function parentsOf({ name, parent }: ListCollection): Required<ListCollection>['parent'] {
  if (parent === undefined) throw new RangeError(`${name} has no parent`);
  return parent;
}

/** What one walk covers: an account's collection, or one list's items. A row of `<schema>_sync.scope`. */
export interface Scope {
  /** Decimal digits of a bigint. */
  readonly userId: string;
  readonly collection: CollectionName;
  /** Key of the parent row (a `list_id`), '' for a scope that covers the whole collection. */
  readonly parent: string;
}

/** A short name for logs and maps: `42/list_items/7`, `42/lists`. */
export function scopeName({ userId, collection: name, parent }: Scope): string {
  return `${userId}/${name}${parent === '' ? '' : `/${parent}`}`;
}
