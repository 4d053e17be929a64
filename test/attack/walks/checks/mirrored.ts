import type pg from 'pg';
import type { CollectionName } from '../../../../src/model/collections.ts';
import type { SourceScope } from '../source/truth-log.ts';

/** Key column of each mirrored list, written down here independently of the program. */
export const KEYS = {
  research_jobs: 'job_id',
  bulk_research_jobs: 'bulk_job_id',
  lists: 'list_id',
  list_items: 'id',
  watchlist: 'id',
} as const satisfies Partial<Record<CollectionName, string>>;
export type ListName = keyof typeof KEYS;

export function listNames(collections: readonly CollectionName[]): ListName[] {
  return collections.filter((name): name is ListName => Object.hasOwn(KEYS, name));
}

/** A row's place in SQL: `list_id` where it has one, '' elsewhere, and its own key. */
export function keysOf(name: ListName): string {
  return `${name === 'list_items' ? 'list_id::text' : `''`} as list, ${KEYS[name]}::text as id`;
}

export interface StoredRow {
  readonly list: string;
  readonly id: string;
  /** `_raw`, as Postgres prints it. */
  readonly raw: string;
}

export function scopeOf(name: ListName, list: string): SourceScope {
  return { collection: name, list };
}

/** The account's live rows, by `list/id`. */
export async function liveRows(
  db: pg.Pool | pg.PoolClient,
  name: ListName,
  user: string,
): Promise<Map<string, string>> {
  const { rows } = await db.query<StoredRow>(
    `select ${keysOf(name)}, _raw::text as raw from mirror.${name} where _user_id = $1 and _deleted_at is null`,
    [user],
  );
  return rowMap(rows);
}

export function rowMap(rows: readonly StoredRow[]): Map<string, string> {
  return new Map(rows.map(({ list, id, raw }) => [`${list}/${id}`, raw]));
}

/** Where two sets of rows differ, one line each. */
export function compareRows(expected: ReadonlyMap<string, string>, found: ReadonlyMap<string, string>): string[] {
  const differences: string[] = [];
  for (const [key, raw] of expected) {
    const other = found.get(key);
    if (other === undefined) differences.push(`${key} is missing`);
    else if (other !== raw) differences.push(`${key} is ${other}, not ${raw}`);
  }
  for (const key of found.keys()) if (!expected.has(key)) differences.push(`${key} is too many`);
  return differences;
}
