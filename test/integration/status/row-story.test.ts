import { beforeEach, expect, it } from 'vitest';
import { openHistory } from '../../../src/mirror/history.ts';
import { inOwnDatabase } from '../../support/databases/migrated-database.ts';
import { deleteAllBut } from '../../support/mirror/deleting.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../support/mirror/test-accounts.ts';

const make = testAccounts();

interface Line {
  readonly what: string;
  readonly field: string | null;
  readonly before: unknown;
  readonly after: Record<string, string | number | null> | null;
  readonly by: string | null;
}

/** `mirror.row_story` of the account's row, each line in words. */
async function story(
  account: MirroredAccount,
  collection: string | null,
  key: string | null,
  atMost: number | null = null,
): Promise<string[]> {
  const { db } = account.database;
  const { rows: lines } = await db.sql<Line>`
    select * from ${db.table('row_story')}(${account.fence.userId}::bigint, ${collection}, ${key}, ${atMost}::bigint)`;
  return lines.map(inWords);
}

function inWords({ what, field, before, after, by }: Line): string {
  const told = field === null ? Object.values(after ?? {}).filter((each) => each !== null) : [];
  const change = field === null ? '' : `${field}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`;
  return [what, by, change, ...told].filter((each) => each !== null && each !== '').join(' ');
}

let account: MirroredAccount;
beforeEach(async () => {
  account = await make();
});

it('mirror.row_story goes from a job’s submission by its event to its changes, and the walks that brought them', async () => {
  const { userId } = account.fence;
  await account.query(`
    insert into mirror.submissions (_user_id, submission_id, operation, payload, idempotency_key, state, response,
      response_status, created_at, sent_at, done_at)
    overriding system value
    select ${userId}, n, 'research', '{}', k, 'accepted', response::jsonb, 202, at, at + '1s', at + '2s'
    from (values (1, 'mine', '{"data":{"job_id":17}}', now() - interval '1 h'),
      (2, 'a list of the same number', '{"list_id":17}', now() - interval '2 h'),
      (3, 'another', '{"job_id":18}', now())) as x (n, k, response, at)`);
  const item = '"job_id":17,"created_at":"2020-01-01T00:00:00.5Z"';
  await account.page('research_jobs', `[{${item},"status":"queued"}]`);
  await account.query(`
    insert into mirror.sync_log (_user_id, walk_id, collection, kind, started_at, ended_at, outcome, pages, items,
      inserted, updated, deleted, unchanged, quarantined, requests, rate_limited)
    select ${userId}, n, c, k, now() - interval '1 min', now() + interval '1 min', 'done', 1, 1, i, u, 0, 0, 0, 1, 0
    from (values (1, 'research_jobs', 'poll', 1, 0), (2, 'research_jobs', 'full', 0, 1), (3, 'lists', 'full', 1, 1))
      as x (n, c, k, i, u)`);
  await account.page('research_jobs', `[{${item},"status":"done","score":1.0}]`);
  await account.query(`
    insert into mirror.events (_user_id, id, type, received_at, _raw, _collection, _key) values
      (${userId}, 'evt_1', 'research.completed', (select _first_seen_at from mirror.research_jobs where _user_id = ${userId}),
        '{}', 'research_jobs', '17'),
      (${userId}, 'evt_2', 'list.analyzed', now(), '{}', 'lists', '17')`);
  await account.query(`
    insert into mirror.quarantine (_user_id, collection, item_hash, item, key, reason, first_seen_at, last_seen_at)
    values (${userId}, 'research_jobs', '', '{}', '17', 'has no place', now(), '2030-01-01Z')`);
  await account.query(`
    insert into mirror._collections (_user_id, collection, polled_at, complete_as_of)
    values (${userId}, 'research_jobs', '2031-01-02Z', '2031-01-01Z')
    on conflict (_user_id, collection) do update set polled_at = excluded.polled_at, complete_as_of = excluded.complete_as_of`);
  expect(await story(account, 'research_jobs', '017')).toEqual([
    'created',
    ...['queued', 'sent', 'answered'].map((what) => `${what} submission 1 accepted research mine 202`),
    'event event evt_1 research.completed',
    'mirrored poll 1',
    'changed full 2 score: null → 1',
    'changed full 2 status: "queued" → "done"',
    'quarantined has no place 2030-01-01T00:00:00+00:00',
    'read',
    'polled',
  ]);
  const [line] = await account.query<{ after: string }>(
    `select after::text from mirror.row_story(${userId}, 'research_jobs', '17') where field = 'score'`,
  );
  expect(line).toEqual({ after: '1.0' });
});

it('mirror.row_story begins before the row is mirrored, and is empty if nothing names it', async () => {
  const { userId } = account.fence;
  await account.query(`
    insert into mirror.submissions (_user_id, submission_id, operation, payload, target_id, state, created_at, done_at)
    overriding system value values
      (${userId}, 1, 'sequence', '{}', '77', 'queued', now(), null),
      (${userId}, 2, 'list_analyze', '{}', '78', 'cancelled', now(), now())`);
  expect(await story(account, 'research_jobs', '77')).toEqual(['queued submission 1 queued sequence']);
  expect(await story(account, 'research_jobs', '78')).toEqual([]);
  expect(await story(account, 'lists', '78')).toEqual([
    'queued submission 2 cancelled list_analyze',
    'ended submission 2 cancelled list_analyze',
  ]);
});

it('mirror.row_story tells deletion and return', async () => {
  const account = await make({ gracePeriodMs: 0 });
  await openHistory(account.database.db, account.fence, ['lists'], true);
  await account.observe('lists', '[{"list_id":1,"name":"a"}]');
  await deleteAllBut(account, 'lists', '[]', { accept: true });
  await account.observe('lists', '[{"list_id":1,"name":"a"}]');
  expect(await story(account, 'lists', '1')).toEqual(['mirrored', 'deleted deletion 1', 'undeleted']);
});

it('mirror.row_story has an end if MIRROR_DELETES=hard removed the row and history is kept', async () => {
  for (const history of [true, false]) {
    const account = await make({ deletes: 'hard', gracePeriodMs: 0, history });
    await account.observe('watchlist', '[{"id":"w","n":1}]');
    await account.observe('watchlist', '[{"id":"w","n":2}]');
    // Without history, changed fields and removed rows are unknown.
    const came = ['mirrored', history ? 'changed n: 1 → 2' : 'changed'];
    expect(await story(account, 'watchlist', 'w')).toEqual(came);
    await deleteAllBut(account, 'watchlist', '[]', { accept: true });
    const left = history ? [...came, 'deleted deletion 1'] : [];
    expect(await story(account, 'watchlist', 'w')).toEqual(left);
  }
});

it.each([
  ['account', 'user_id', undefined, ''],
  ['bulk_research_jobs', 'bulk_job_id', 5, ''],
  ['list_items', 'id', "it's a:b/%", '7'],
  ['watchlist', 'id', "it's a:b/%", ''],
] as const)('mirror.row_story is there for every table: %s', async (collection, name, given, parent) => {
  const id = given ?? Number(account.fence.userId);
  for (const n of [1, 2]) await account.page(collection, JSON.stringify([{ [name]: id, n }]), { parent });
  const key = parent === '' ? String(id) : `${parent}:${id}`;
  expect(await story(account, collection, key)).toEqual(['mirrored', 'changed n: 1 → 2']);
  expect(await story(await make(), collection, key)).toEqual([]);
});

it('mirror.row_story gives the requested number of superseded versions, the newest, and the row’s begin', async () => {
  for (let n = 1; n <= 5; n += 1) await account.page('watchlist', `[{"id":"w","n":${n}}]`);
  const changes = ['changed n: 2 → 3', 'changed n: 3 → 4', 'changed n: 4 → 5'];
  expect(await story(account, 'watchlist', 'w', 2)).toEqual(['mirrored', ...changes]);
});

it('mirror.row_story has a row’s version in quarantine, whatever names it there', async () => {
  const { userId } = account.fence;
  for (const [collection, id, parent, key] of [
    ['account', `"user_id":${userId}`, '', userId],
    ['lists', '"list_id":7', '', '7'],
    ['list_items', '"id":"a:b"', '7', '7:a:b'],
  ] as const) {
    for (const n of ['1', '1e200000']) await account.page(collection, `[{${id},"n":${n}}]`, { parent });
    const overflows = expect.stringMatching(/^quarantined .*overflows/) as string;
    expect((await story(account, collection, key)).slice(0, 2)).toEqual(['mirrored', overflows]);
  }
});

it.each([
  ['secrets', '7', "row_story: there is no collection 'secrets'"],
  ['research_jobs', 'seven', "row_story: no row of research_jobs can have the key 'seven'"],
  ['list_items', '7', "row_story: no row of list_items can have the key '7'"],
  ['watchlist', '', "row_story: no row of watchlist can have the key ''"],
  ['lists', '9223372036854775808', 'out of range for type bigint'],
  ['lists', null, 'row_story: no row of lists can have the key NULL'],
  [null, '7', 'row_story: there is no collection NULL'],
])('mirror.row_story says what is wrong with a row of %s that is called %s', async (collection, key, problem) => {
  await expect(story(account, collection, key)).rejects.toThrow(problem);
});

it.each([
  ['null, $$lists$$, $$7$$', 'row_story: user_id is NULL'],
  ['42, $$lists$$, $$7$$, -1', 'row_story: at_most is -1'],
])('mirror.row_story says what is wrong with row_story(%s)', async (asked, message) => {
  const refused = { code: '22023', message, hint: expect.any(String) as string };
  await expect(account.query(`select * from mirror.row_story(${asked})`)).rejects.toMatchObject(refused);
});

it('mirror.row_story is in whatever schema the mirror is in', () =>
  inOwnDatabase(async (own) => {
    const account = await MirroredAccount.make(own, '42');
    await account.page('lists', '[{"list_id":7}]');
    expect(await story(account, 'lists', '7')).toEqual(['mirrored']);
  }));
