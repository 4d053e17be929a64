import pg from 'pg';
import type { ItemSelection } from '@research-mirror/sandbox/testing/control-client';
import type { TestSandbox } from '@research-mirror/sandbox/testing/sandbox';

const COLLECTIONS = {
  research_jobs: 'job_id',
  bulk_research_jobs: 'bulk_job_id',
  lists: 'list_id',
  list_items: 'id',
  watchlist: 'id',
} as const;
type ListName = keyof typeof COLLECTIONS;

/**
 * Where the mirror is not what the service would answer now, one line each; [] when it is equal in every field: the
 * items themselves digit by digit (`_raw`), each column, and nothing more or less. The service's data should stand
 * still meanwhile.
 * @param user the account; left out: the first key's
 */
export async function differences(
  { sandbox, db }: { readonly sandbox: Pick<TestSandbox, 'control' | 'userId'>; readonly db: pg.Pool },
  user: number = sandbox.userId,
): Promise<string[]> {
  const found: string[] = [];
  for (const collection of ['research_jobs', 'bulk_research_jobs', 'lists', 'watchlist'] as const) {
    const truth = await sandbox.control.truth({ collection, user });
    found.push(...(await compareItems(db, { collection, user }, truth)));
  }
  const lists = await sandbox.control.truth({ collection: 'lists', user });
  for (const list of lists.map((text) => keyOf(text, 'lists'))) {
    const which = { collection: 'list_items', user, list } as const;
    found.push(...(await compareItems(db, which, await sandbox.control.truth(which))));
  }
  const { rows } = await db.query<{ list_id: string }>(
    `select distinct list_id from mirror.list_items where _user_id = $1 and _deleted_at is null
      and list_id not in (select list_id from mirror.lists where _user_id = $1 and _deleted_at is null)`,
    [user],
  );
  found.push(...rows.map((row) => `list_items: list ${row.list_id} is not a list`));
  for (const collection of [...Object.keys(COLLECTIONS), 'account'] as (ListName | 'account')[]) {
    found.push(...(await compareColumns(db, collection, user)));
  }
  return found;
}

async function compareItems(db: pg.Pool, which: ItemSelection, truth: readonly string[]): Promise<string[]> {
  const collection = which.collection;
  const ofList = which.list === undefined ? '' : ` and list_id = ${which.list}`;
  const { rows } = await db.query<{ key: string; what: string }>(
    `select key, case when m.raw is null then 'is missing' when t.source is null then 'is not the service''s'
       else 'is ' || m.raw || ', not ' || t.source::jsonb::text end as what
     from unnest($1::text[], $2::text[]) as t (key, source)
     full join (select ${COLLECTIONS[collection]}::text as key, _raw::text as raw from mirror.${collection}
                where _user_id = $3${ofList} and _deleted_at is null) as m using (key)
     where m.raw is distinct from t.source::jsonb::text limit 10`,
    [truth.map((text) => keyOf(text, collection)), truth, which.user],
  );
  return rows.map(({ key, what }) => `${collection} ${ofList}${key} ${what}`);
}

/** Compares columns of documented and of new fields with the items that they come from. */
async function compareColumns(db: pg.Pool, collection: ListName | 'account', user: number): Promise<string[]> {
  const { rows: columns } = await db.query<{ field: string; column_name: string; type: string }>(
    'select field, column_name, type from mirror.columns where collection = $1 and column_name is not null',
    [collection],
  );
  const wrong = columns.map(({ field, column_name: name, type }) => {
    // By the contract, written independently of the program.
    const of = pg.escapeLiteral(field);
    const expected = type === 'jsonb' ? `nullif(_raw -> ${of}, 'null')` : `(_raw ->> ${of})::${type}`;
    return `select ${pg.escapeLiteral(name)} as name, count(*)::int as rows from mirror.${collection}
      where _user_id = ${user} and ${pg.escapeIdentifier(name)} is distinct from ${expected} having count(*) > 0`;
  });
  const { rows } = await db.query<{ name: string; rows: number }>(wrong.join(' union all '));
  const unknown = await db.query<{ field: string }>(
    `select distinct field from mirror.${collection}, jsonb_each(_raw) as f (field, value)
     where _user_id = $1 and value <> 'null' and field <> 'object'
       and field not in (select field from mirror.columns where collection = $2)`,
    [user, collection],
  );
  return [
    ...rows.map(({ name, rows: count }) => `${collection}.${name} is wrong in ${count} rows`),
    ...unknown.rows.map(({ field }) => `${collection}: the field ${field} has no column`),
  ];
}

/** The cursor ID is the first field of the sandbox's items. */
function keyOf(text: string, collection: ListName): string {
  const key = new RegExp(`^\\{"${COLLECTIONS[collection]}":"?([^",}]+)`).exec(text)?.[1];
  if (key === undefined) throw new Error(`no ${COLLECTIONS[collection]} at the beginning of ${text}`);
  return key;
}

/** What any write to any mirrored row changes: the physical version of each. */
export async function rowVersions(db: pg.Pool): Promise<string> {
  const tables = [...Object.keys(COLLECTIONS), 'account'];
  const each = tables.map((name) => `select '${name}' || ctid || xmin as version from mirror.${name}`);
  const { rows } = await db.query<{ versions: string }>(`
    select md5(string_agg(version, ',' order by version)) as versions from (${each.join(' union all ')}) as v`);
  return rows[0]?.versions ?? '';
}
