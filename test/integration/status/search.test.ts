import { expect, it } from 'vitest';
import { type Hit, keyParts, MOST_FOUND, readRow, searchMirror } from '../../../src/status/lookup-store.ts';
import type { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../support/mirror/test-accounts.ts';

const make = testAccounts();

const search = ({ database }: MirroredAccount, query: string) => searchMirror(database.db, query);

/** The account's results, one per line. */
async function found(account: MirroredAccount, query: string): Promise<string[]> {
  const { found } = await search(account, query);
  return found.filter(({ userId }) => userId === account.fence.userId).map(inWords);
}

function inWords({ by, row, state }: Hit): string {
  const path = row === undefined ? 'nothing' : [row.collection, ...keyParts(row)].join('/');
  if (by !== null) return `${by.split(' ')[0]} → ${path}`;
  return `${path}${state === 'deleted' ? ', deleted' : ''}`;
}

it('a search finds rows of every table by their ID, over all accounts', async () => {
  const [first, second] = [await make(), await make()];
  for (const account of [first, second]) {
    await account.page('research_jobs', '[{"job_id":700}]');
    await account.page('bulk_research_jobs', '[{"bulk_job_id":700}]');
    await account.page('lists', '[{"list_id":700}]');
    await account.page('list_items', '[{"id":"700"}]', { parent: '700' });
    await account.page('watchlist', '[{"id":"700"}]');
  }
  for (const account of [first, second]) {
    const rows = ['bulk_research_jobs/700', 'lists/700', 'research_jobs/700'];
    expect((await found(account, ' 0700 ')).toSorted()).toEqual(rows);
    const items = ['list_items/700/700', 'watchlist/700'];
    expect((await found(account, '700')).toSorted()).toEqual([...rows, ...items].toSorted());
  }
  expect((await search(first, '701')).found).toEqual([]);
});

it('a search finds companies by their domain, in any spelling, and each of their rows', async () => {
  const account = await make();
  const jobs = '[{"job_id":1,"url":"https://www.search.example/"},{"job_id":2,"url":"other.example"}]';
  await account.page('research_jobs', jobs);
  await account.page('lists', '[{"list_id":7}]');
  await account.page('list_items', '[{"id":"a","domain":"search.example"}]', { parent: '7' });
  await account.page('watchlist', '[{"id":"search.example","website":"search.example"}]');
  // What changed last comes first.
  const rows = ['watchlist/search.example', 'list_items/7/a', 'research_jobs/1'];
  expect(await found(account, 'HTTPS://www.Search.example/about')).toEqual(rows);
  expect(await found(account, 'search.example')).toEqual(rows);
  expect(await found(account, 'earch.example')).toEqual([]);
});

it('a search finds deleted rows, and marks them', async () => {
  const account = await make();
  const { userId } = account.fence;
  const job = `9${userId}`;
  await account.page('research_jobs', `[{"job_id":${job},"domain":"gone-${userId}.example"}]`);
  await account.page('lists', `[{"list_id":${job}}]`);
  await account.page('list_items', `[{"id":"it-${userId}"}]`, { parent: job });
  for (const table of ['research_jobs', 'lists', 'list_items'])
    await account.query(`update mirror.${table} set _deleted_at = now() where _user_id = ${userId}`);
  expect(await found(account, job)).toEqual([`lists/${job}, deleted`, `research_jobs/${job}, deleted`]);
  expect(await found(account, `it-${userId}`)).toEqual([`list_items/${job}/it-${userId}, deleted`]);
  expect(await found(account, `gone-${userId}.example`)).toEqual([`research_jobs/${job}, deleted`]);
});

it('a search finds events, submissions and accounts, with the rows that they name', async () => {
  const account = await make();
  const { userId } = account.fence;
  await account.single(`{"user_id":${userId},"email":"Ada-${userId}@search.example"}`);
  await account.query(`
    insert into mirror.events (_user_id, id, type, received_at, _raw, _collection, _key) values
      (${userId}, 'evt_${userId}', 'research.completed', now(), '{}', 'research_jobs', '5'),
      (${userId}, 'evt_other_${userId}', 'unknown', now(), '{}', null, null)`);
  const [submission] = await account.query<{ id: string }>(`
    insert into mirror.submissions (_user_id, operation, payload, idempotency_key, state, response, created_at)
    values (${userId}, 'research', '{}', 'key ${userId}', 'accepted', '{"data":{"job_id":5}}', now())
    returning submission_id::text as id`);
  await account.query(`
    insert into mirror.submissions (_user_id, operation, payload, target_id, idempotency_key, created_at)
    values (${userId}, 'sequence', '{}', '6', 'target ${userId}', now())`);
  expect(await found(account, `evt_${userId}`)).toEqual([`event → research_jobs/5`]);
  expect(await found(account, `evt_other_${userId}`)).toEqual([`event → nothing`]);
  expect(await found(account, `key ${userId}`)).toEqual(['submission → research_jobs/5']);
  expect(await found(account, `target ${userId}`)).toEqual(['submission → research_jobs/6']);
  expect(await found(account, submission?.id ?? '')).toContain('submission → research_jobs/5');
  expect(await found(account, userId)).toContain('account');
  expect((await search(account, `ada-${userId}@SEARCH.example`)).found).toMatchObject([
    { row: { collection: 'account', key: userId }, name: `Ada-${userId}@search.example` },
  ]);
});

it('a search finds hostile IDs, and the rows that they name', async () => {
  const account = await make();
  const ids = [
    `'; drop table mirror.lists; --`,
    '"quoted"',
    '100% _of_ %25 it%',
    'a/b/../c',
    '..',
    '~',
    '名前 🎮',
    String.raw`back\slash {a,b}`,
    'x'.repeat(300),
    '+&?#=',
    ' spaced ',
  ];
  await account.page('watchlist', JSON.stringify(ids.map((id) => ({ id }))));
  for (const id of ids) {
    const { found } = await search(account, id);
    expect(found.map(({ row }) => row?.key)).toContain(id);
    const row = { userId: account.fence.userId, collection: 'watchlist', key: id } as const;
    expect((await readRow(account.database.db, row))?.state).toBe('live');
  }
});

it('a search finds nothing by a text that no ID can be, and says if there are more', async () => {
  const account = await make();
  const impossible = ['a\0b', 'a\0@b.example', '\ud800', '%', '', ' ', '9'.repeat(400), 'x'.repeat(1024)];
  for (const query of impossible) expect((await search(account, query)).found).toEqual([]);
  const jobs = Array.from({ length: MOST_FOUND + 1 }, (_, n) => ({ job_id: n + 1, domain: 'many.example' }));
  await account.page('research_jobs', JSON.stringify(jobs));
  expect(await search(account, 'many.example')).toMatchObject({ more: true });
  await account.query(
    `update mirror.research_jobs set _domain = null where _user_id = ${account.fence.userId} and job_id = 1`,
  );
  expect(await search(account, 'many.example')).toMatchObject({ more: false });
  expect((await search(account, 'many.example')).found).toHaveLength(MOST_FOUND);
});
