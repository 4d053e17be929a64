import { type CollectionName, childrenOf, collection } from './collections.ts';
import { fieldSource, fieldSources } from './json-text.ts';
import { isJson } from './jsonb.ts';
import { readKey } from './key.ts';

/** A row or a whole scope that may have changed, as an event or an answer says. */
export interface HintedRow {
  readonly collection: CollectionName;
  /** The scope's parent (a `list_id`), '' where it has none. */
  readonly parent: string;
  /** '' for the scope as a whole. */
  readonly key: string;
}

/** What the types of a family name (specification 6): the table, and the fields of `data` that may hold its key. */
const FAMILIES: ReadonlyMap<string, { readonly table: CollectionName; readonly fields: readonly string[] }> =
  new Map([
    ['research', { table: 'research_jobs', fields: ['job_id'] }],
    ['bulk', { table: 'bulk_research_jobs', fields: ['bulk_job_id', 'id'] }],
    ['list', { table: 'lists', fields: ['list_id', 'id'] }],
    ['watchlist', { table: 'watchlist', fields: ['id'] }],
  ]);

/** Fields that name a row in any object. */
const TELLING_FIELDS: readonly { readonly field: string; readonly table: CollectionName }[] = [
  { field: 'job_id', table: 'research_jobs' },
  { field: 'bulk_job_id', table: 'bulk_research_jobs' },
  { field: 'list_id', table: 'lists' },
];

/**
 * The rows that an event names (specification 2.4, 6). A known family names its row, or the whole scope where `data`
 * names none. Any other type names whatever its `data` does. An event of a list names its items too.
 * @param data JSON text (which JSON.parse accepts) of the envelope's `data`; undefined where it has none
 */
export function rowsOfEvent(type: string | undefined, data: string | undefined): HintedRow[] {
  const family = FAMILIES.get(type?.split('.', 1)[0] ?? '');
  if (family === undefined || !(type ?? '').includes('.')) return data === undefined ? [] : namedIn(data);
  const { table, fields } = family;
  const named =
    data === undefined
      ? undefined
      : fields.map((field) => keyIn(data, field, table)).find((key) => key !== undefined);
  return named === undefined ? [{ collection: table, parent: '', key: '' }] : rowAndChildren(table, named);
}

/**
 * The rows that the answer of a POST operation names: by `job_id`, `bulk_job_id` and `list_id`, at its top or in an
 * object one level down. The specification (4.4) does not show what the operations answer.
 */
export function rowsOfAnswer(bodySource: string): HintedRow[] {
  if (!isJson(bodySource)) return [];
  const rows = [bodySource, ...fieldSources(bodySource).values()].flatMap(namedIn);
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()];
}

function namedIn(source: string): HintedRow[] {
  return TELLING_FIELDS.flatMap(({ field, table }) => {
    const key = keyIn(source, field, table);
    return key === undefined ? [] : rowAndChildren(table, key);
  });
}

/** The row, and its own scopes as a whole (the items of a list). */
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
