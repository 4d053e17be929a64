import { type CollectionName, childrenOf, collection } from './collections.ts';
import { fieldSource, fieldSources } from './json-text.ts';
import { isJson } from './values.ts';
import { readKey } from './key.ts';

/** A row or a whole scope that may have changed, by an event or an answer. */
export interface HintedRow {
  readonly collection: CollectionName;
  /** The scope's parent (a `list_id`), '' without one. */
  readonly parent: string;
  /** '' for the whole scope. */
  readonly key: string;
}

/** Families of event types (specification 6): the table, and the fields of `data` that may hold its key. */
const FAMILIES: ReadonlyMap<string, readonly [table: CollectionName, ...fields: string[]]> = new Map([
  ['research', ['research_jobs', 'job_id']],
  ['bulk', ['bulk_research_jobs', 'bulk_job_id', 'id']],
  ['list', ['lists', 'list_id', 'id']],
  ['watchlist', ['watchlist', 'id']],
]);

/** Fields that name a row in any object. */
const ROW_FIELDS = { job_id: 'research_jobs', bulk_job_id: 'bulk_research_jobs', list_id: 'lists' } as const;

/**
 * The rows that an event names (specification 2.4, 6). A known family names its row, or the whole scope if `data` names
 * no row. Of any other type, all rows that `data` names. An event of a list names its items, too.
 * @param data the envelope's `data` as text that JSON.parse accepts; undefined without one
 */
export function rowsOfEvent(type: string | undefined, data: string | undefined): HintedRow[] {
  const family = FAMILIES.get(type?.split('.', 1)[0] ?? '');
  if (family === undefined || !(type ?? '').includes('.')) return data === undefined ? [] : namedIn(data);
  const [table, ...fields] = family;
  const keys = data === undefined ? [] : fields.map((field) => keyIn(data, field, table));
  const named = keys.find((key) => key !== undefined);
  return named === undefined ? [{ collection: table, parent: '', key: '' }] : rowAndChildren(table, named);
}

/**
 * The rows that the answer of a POST operation names: by `job_id`, `bulk_job_id` and `list_id`, at its top or in an
 * object one level down. The specification (4.4) leaves the answers open.
 */
export function rowsOfAnswer(bodySource: string): HintedRow[] {
  if (!isJson(bodySource)) return [];
  const rows = [bodySource, ...fieldSources(bodySource).values()].flatMap(namedIn);
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()];
}

function namedIn(source: string): HintedRow[] {
  return Object.entries(ROW_FIELDS).flatMap(([field, table]) => {
    const key = keyIn(source, field, table);
    return key === undefined ? [] : rowAndChildren(table, key);
  });
}

/** The row, and its own scopes (the items of a list). */
function rowAndChildren(table: CollectionName, key: string): HintedRow[] {
  const children = childrenOf(table).map(({ name }) => ({ collection: name, parent: key, key: '' }));
  return [{ collection: table, parent: '', key }, ...children];
}

function keyIn(source: string, field: string, table: CollectionName): string | undefined {
  const found = collection(table);
  if (found.kind === 'single') return undefined;
  const reading = readKey(found.keyType, fieldSource(source, field));
  return 'key' in reading ? reading.key : undefined;
}
