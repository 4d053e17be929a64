import { expect, it } from 'vitest';
import { lookupSnapshot, readRow, type RowStory } from '../../../src/status/lookup-store.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { deleteAllBut } from '../../support/mirror/deleting.ts';
import type { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../support/mirror/test-accounts.ts';

const make = testAccounts();

const read = ({ database, fence: { userId } }: MirroredAccount, collection: CollectionName, key: string) =>
  readRow(database.db, { userId, collection, key });

/** Makes its readings due. */
const schedule = (account: MirroredAccount, name: CollectionName): Promise<unknown> =>
  account.query(`
    insert into mirror._collections (_user_id, collection, next_poll_at, next_full_at)
    values (${account.fence.userId}, '${name}', now() + interval '1 min', now() + interval '1 h')
    on conflict (_user_id, collection) do update set next_poll_at = excluded.next_poll_at, next_full_at = excluded.next_full_at`);

/** The timeline, the oldest first. */
const told = (row: RowStory | undefined): string[] =>
  (row?.timeline ?? [])
    .map(({ what, fields }) =>
      [what, ...fields.map(({ field, before, after }) => `${field}: ${before} → ${after}`)].join(' '),
    )
    .toReversed();

it('a row has its columns in their order, its item, and its changes with their fields together', async () => {
  const account = await make();
  await account.page('research_jobs', '[{"job_id":17,"status":"queued","score":1.0}]');
  await account.page('research_jobs', '[{"job_id":17,"status":"done","score":1.00}]');
  const row = await read(account, 'research_jobs', '17');
  expect(row).toMatchObject({ state: 'live', more: false });
  expect(told(row)).toEqual(['mirrored', 'changed score: 1.0 → 1.00 status: "queued" → "done"']);
  expect(row?.timeline[0]?.at).toMatch(/^\d{4}-\d\d-\d\dT.*\+00:00$/);
  const names = row?.columns.map(({ name }) => name) ?? [];
  expect(names.slice(0, 3)).toEqual(['job_id', 'status', 'score']);
  expect(names).not.toContain('_hash');
  expect(row?.columns.find(({ name }) => name === 'score')?.value).toBe('1.00');
  expect(row?.raw).toContain('"score": 1.00');
});

it('a row may have columns named like the tables of statements', async () => {
  const account = await make();
  const letters = Array.from('abcdefghijklmnopqrstuvwxyz');
  await account.page('research_jobs', `[{"job_id":17,${letters.map((each) => `"${each}":"1"`).join()}}]`);
  const row = await read(account, 'research_jobs', '17');
  expect(row?.columns.map(({ name }) => name)).toEqual(expect.arrayContaining(letters));
  expect(told(row)).toEqual(['mirrored']);
});

it('the daemon’s plans for a row are shown, and make no row by themselves', async () => {
  const account = await make({ gracePeriodMs: 0 });
  const { userId } = account.fence;
  await account.observe('lists', '[{"list_id":1,"name":"a"}]');
  await schedule(account, 'lists');
  await account.query(`
    insert into mirror_sync.hint (_user_id, collection, key, hinted_at, due_at)
    values (${userId}, 'lists', '1', now(), now() + interval '1 s'), (${userId}, 'lists', '2', now(), now())`);
  await account.observe('lists', '[]', { proof: { kind: 'snapshot' } });
  const row = await read(account, 'lists', '1');
  expect(told(row)).toEqual(['mirrored', 'suspected', 'hinted', 'next_poll', 'next_full']);
  const suspected = row?.timeline.find(({ what }) => what === 'suspected');
  expect(suspected?.more).toEqual({ kind: 'snapshot', proven: false, refused: null });
  expect(await read(account, 'lists', '2')).toBeUndefined();
});

it('a removed row is shown as it was, if its history is kept', async () => {
  const account = await make({ deletes: 'hard', gracePeriodMs: 0 });
  await account.observe('watchlist', '[{"id":"w","n":1}]');
  await account.observe('watchlist', '[{"id":"w","n":2}]');
  await deleteAllBut(account, 'watchlist', '[]', { accept: true });
  await schedule(account, 'watchlist');
  const row = await read(account, 'watchlist', 'w');
  expect(row?.state).toBe('deleted');
  expect(told(row)).toEqual(['mirrored', 'changed n: 1 → 2', 'deleted']);
  expect(row?.columns.find(({ name }) => name === 'n')?.value).toBe('2');
});

it('a row that is only named is absent', async () => {
  const account = await make();
  await account.query(`
    insert into mirror.events (_user_id, id, received_at, _raw, _collection, _key)
    values (${account.fence.userId}, 'evt', now(), '{}', 'research_jobs', '5')`);
  const absent = { state: 'absent', columns: [], raw: null };
  expect(await read(account, 'research_jobs', '5')).toMatchObject(absent);
});

it('the answer is bounded: the newest entries, the beginning of long values', async () => {
  const account = await make();
  const text = 'é'.repeat(30_000);
  const page = (n: number) => account.page('watchlist', `[{"id":"w","n":${n},"text":"${text}"}]`);
  for (let n = 1; n <= 100; n += 1) await page(n);
  expect(told(await read(account, 'watchlist', 'w'))).toHaveLength(100);
  expect((await read(account, 'watchlist', 'w'))?.more).toBe(false);
  await page(101);
  const row = await read(account, 'watchlist', 'w');
  expect([told(row).length, row?.more]).toEqual([100, true]);
  expect([told(row)[0], told(row).at(-1)]).toEqual(['changed n: 1 → 2', 'changed n: 100 → 101']);
  const shown = `${'é'.repeat(2_000)}… (30000 characters)`;
  expect(row?.columns.find(({ name }) => name === 'text')?.value).toBe(shown);
  expect(row?.raw?.length).toBeLessThan(20_100);
});

it('a lookup takes three seconds a statement at most, and changes nothing', async () => {
  const { database } = await make();
  const settings = await lookupSnapshot(database.db, async (trx) => {
    const { rows } = await trx.sql`
      select current_setting('statement_timeout') as statement, current_setting('transaction_read_only') as only_reads`;
    return rows;
  });
  expect(settings).toEqual([{ statement: '3s', only_reads: 'on' }]);
});

it('a moment that no calendar has, or that ISO 8601 can’t write, is left out', async () => {
  const account = await make();
  const beyond = ['9999-12-31T23:59:59-10:00', '0001-01-01T00:00:00+10:00'];
  const none = ['2020-13-45T00:00:00Z', 'Tomorrow+00', '2020-01-01', 'x'];
  for (const [n, at] of [...beyond, ...none].entries()) {
    await account.page('research_jobs', `[{"job_id":${n},"created_at":"${at}"}]`);
    expect(told(await read(account, 'research_jobs', String(n)))).toEqual(['mirrored']);
  }
});
