import type pg from 'pg';
import { COLLECTIONS, type ListCollection } from '../../src/model/collections.ts';
import type { SandboxControl } from '@research-mirror/sandbox/testing/control-client';
import type { TestSandbox } from '@research-mirror/sandbox/testing/sandbox';

/** Items sent to Postgres at a time. */
const BATCH = 2000;
const SHOWN = 5;

export interface Comparison {
  readonly rows: number;
  readonly values: number;
  /** What differs, the first few; empty: the mirror equals the truth. */
  readonly problems: readonly string[];
}

interface Column {
  readonly field: string;
  readonly column_name: string;
  readonly type: string;
}

/**
 * Compares the mirror with what the sandbox says its lists hold, in every field. Postgres itself judges, so that
 * nothing of the mirror's own reading of JSON is trusted: `_raw` must have the text that PostgreSQL gives to the item
 * (every digit counts: 1.10 is not 1.1), each column the text of the field cast to the column's type, and every
 * field that has a value anywhere must have a column. Neither more rows nor fewer.
 */
export async function compareMirror(client: pg.Client, sandbox: TestSandbox): Promise<Comparison> {
  await client.query(`set timezone = 'UTC'`);
  // A table that was filled a moment ago has no statistics, and the joins below a bad plan.
  await client.query('analyze');
  const problems: string[] = [];
  let [rows, values] = [0, 0];
  for (const collection of COLLECTIONS) {
    if (collection.kind === 'single') {
      problems.push(...(await compareAccount(client, sandbox)));
      continue;
    }
    const columns = await columnsOf(client, collection);
    let expected = 0;
    for await (const { list, items } of truthOf(sandbox.control, collection)) {
      expected += items.length;
      for (let start = 0; start < items.length; start += BATCH) {
        const batch = items.slice(start, start + BATCH);
        problems.push(...(await compareItems(client, sandbox.userId, collection, columns, list, batch)));
      }
      values += items.length * (columns.length + 1);
    }
    rows += expected;
    const count = `select count(*)::int as count from mirror.${collection.name} where _deleted_at is null`;
    const { rows: counted } = await client.query<{ count: number }>(count);
    if (counted[0]?.count !== expected) {
      problems.push(`${collection.name}: ${expected} items, ${counted[0]?.count} rows`);
    }
  }
  return { rows, values, problems: problems.slice(0, SHOWN) };
}

/** The collection's items as the sandbox answers them: of one scope after another. */
export async function* truthOf(
  control: SandboxControl,
  collection: ListCollection,
): AsyncGenerator<{ readonly list: string | undefined; readonly items: readonly string[] }> {
  if (collection.name === 'account') return;
  if (collection.name !== 'list_items') {
    yield { list: undefined, items: await control.truth({ collection: collection.name }) };
    return;
  }
  for (const row of await control.truth({ collection: 'lists' })) {
    const list = String((JSON.parse(row) as { list_id: number }).list_id);
    yield { list, items: await control.truth({ collection: 'list_items', list }) };
  }
}

async function columnsOf(client: pg.Client, collection: ListCollection): Promise<readonly Column[]> {
  const { rows } = await client.query<Column>(
    'select field, column_name, type from mirror.columns where collection = $1 and column_name is not null',
    [collection.name],
  );
  return rows;
}

async function compareItems(
  client: pg.Client,
  userId: number,
  { name, keyField, keyType }: ListCollection,
  columns: readonly Column[],
  list: string | undefined,
  items: readonly string[],
): Promise<string[]> {
  const differences = columns.map(({ field, column_name, type }) => {
    const value =
      type === 'jsonb'
        ? `nullif(t.item -> ${literal(field)}, 'null')`
        : `(t.item ->> ${literal(field)})::${type}`;
    return `when m.${identifier(column_name)}::text is distinct from (${value})::text then ${literal(column_name)}`;
  });
  const known = columns.map(({ field }) => literal(field)).join(', ');
  const { rows } = await client.query<{ key: string; what: string }>(
    `with t as materialized (select source::jsonb as item from unnest($1::text[]) as source),
     compared as (
       select t.item ->> '${keyField}' as key, case
         when m._user_id is null then 'no row'
         when m._raw::text is distinct from t.item::text then '_raw'
         ${differences.join('\n')}
         when exists (select from jsonb_each(t.item) as e where e.value <> 'null' and e.key not in (${known}))
           then 'a field without a column'
       end as what
       from t left join mirror.${name} as m
         on m._user_id = $2 and m.${keyField} = (t.item ->> '${keyField}')::${keyType} and m._deleted_at is null
         ${list === undefined ? '' : 'and m.list_id = $3'})
     select key, what from compared where what is not null limit ${SHOWN}`,
    list === undefined ? [items, userId] : [items, userId, list],
  );
  return rows.map(({ key, what }) => `${name} ${list === undefined ? '' : `${list}/`}${key}: ${what}`);
}

async function compareAccount(client: pg.Client, sandbox: TestSandbox): Promise<string[]> {
  const response = await fetch(`${sandbox.url}/v1/account`, {
    headers: { authorization: `Bearer ${sandbox.key}` },
  });
  const item = await response.text();
  const { rows } = await client.query<{ equal: boolean }>(
    `select a._raw::text = i::text and a.email = i ->> 'email' and a.credits::text = i ->> 'credits'
       and a.subscription = i ->> 'subscription' and a.org = i ->> 'org' as equal
     from mirror.account as a cross join (select $1::jsonb as i) as item`,
    [item],
  );
  return rows.length === 1 && rows[0]?.equal === true ? [] : ['account differs'];
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
