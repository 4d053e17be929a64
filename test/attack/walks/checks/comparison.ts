import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { ROOT } from '../../../support/rules/source-files.ts';
import { KEYS, type ListName } from './mirrored.ts';

/**
 * Compares what a consumer holds with the mirror by change ID, by the query that docs/recipes.md gives to consumers that find
 * the mark that the database went back.
 * @param copied change IDs by `list/id`
 * @returns rows that differ, their `key` as `list/id`; `change` is null where the mirror has no such row, `raw` where
 *   it is deleted or was never there
 */
export async function compareCopied(
  db: pg.Pool,
  name: ListName,
  user: string,
  copied: ReadonlyMap<string, string>,
) {
  const keys = name === 'list_items' ? ['list_id', 'id'] : [KEYS[name]];
  const rows = [...copied].map(([place, change]) => {
    const values = place.split('/').slice(-keys.length);
    return {
      ...Object.fromEntries(keys.map((key, at) => [key, values[at]])),
      _user_id: user,
      _change_id: change,
    };
  });
  const client = await db.connect();
  // What breaks it is told by the statement under way.
  client.on('error', () => {});
  try {
    await client.query('begin');
    await client.query(
      `create temporary table copied on commit drop as
       select _user_id, ${keys.join(', ')}, _change_id from mirror.${name} limit 0`,
    );
    await client.query('insert into copied select * from jsonb_populate_recordset(null::copied, $1)', [
      JSON.stringify(rows),
    ]);
    const { rows: found } = await client.query<Record<string, string | null> & { gone: boolean }>(
      recipe(name, keys),
      [user],
    );
    await client.query('commit');
    return found.map((row) => ({
      key: `${(name === 'list_items' && row['list_id']) || ''}/${row[KEYS[name]] ?? ''}`,
      change: row['_change_id'] ?? null,
      raw: row.gone ? null : (row['raw'] ?? null),
    }));
  } finally {
    // Also where it failed in the middle: nothing of it stays.
    client.release(true);
  }
}

/** The recipe, which compares research_jobs with a table crm.jobs, for another table; rows as Postgres prints them. */
function recipe(name: ListName, keys: readonly string[]): string {
  const text = readFileSync(join(ROOT, 'docs', 'recipes.md'), 'utf8');
  const [, found] = /```sql\n([^`]*full join[^`]*crm\.jobs[^`]*)```/.exec(text) ?? [];
  if (found === undefined) throw new Error('docs/recipes.md compares with crm.jobs no more');
  return found
    .replaceAll('crm.jobs', 'copied')
    .replaceAll('research_jobs', name)
    .replaceAll('job_id', keys.join(', '))
    .replace('m._raw', 'm._raw::text as raw');
}
