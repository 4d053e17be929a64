import { describe, expect, it } from 'vitest';
import { readRowStory } from '../../../../src/mirror/lookup/read-row-story.ts';
import { openHistory } from '../../../../src/mirror/history/coverage.ts';
import type { CollectionName } from '../../../../src/model/collections.ts';
import type { CutText, RowStory, TimelineEntry } from '../../../../src/model/lookup/row-story.ts';
import { inOwnDatabase } from '../../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const make = testAccounts();

function story(
  account: MirroredAccount,
  collection: CollectionName,
  key: readonly string[],
  entries = 100,
): Promise<RowStory | undefined> {
  return readRowStory(account.database.db, { userId: account.fence.userId, collection, key }, entries);
}

/** The timeline, the oldest first, each entry in a line. */
const told = (row: RowStory | undefined): string[] => (row?.timeline ?? []).map(inWords).toReversed();

function inWords(entry: TimelineEntry): string {
  switch (entry.what) {
    case 'queued':
    case 'sent':
      return `${entry.what} ${entry.operation} ${entry.idempotencyKey}`;
    case 'answered':
    case 'ended':
      return `${entry.what}: ${entry.state} ${entry.responseStatus}`;
    case 'event':
      return `event ${entry.type}`;
    case 'mirrored':
      return `mirrored by ${entry.walk}`;
    case 'changed':
      return `changed ${entry.fields.map((each) => `${each.field}: ${textOf(each.before)} → ${textOf(each.after)}`).join()}`;
    case 'suspected':
      return `suspected${entry.proven ? ', proven' : ''}${entry.returned ? ', returned' : ''}`;
    case 'created':
    case 'deleted':
    case 'undeleted':
      return entry.what;
  }
}

const textOf = (value: CutText | null): string => (value === null ? 'nothing' : value.text);

describe('the story of a job', () => {
  it('goes from its submission by its event to its changes', async () => {
    const account = await make();
    const { userId } = account.fence;
    await account.query(`
      insert into mirror.submissions (_user_id, operation, payload, idempotency_key, state, response, response_status,
        created_at, sent_at, done_at)
      select ${userId}, 'research', '{}', k, 'accepted', response::jsonb, 202, at, at + '1s', at + '2s'
      from (values ('mine', '{"data":{"job_id":17}}', now() - interval '1 h'),
        ('a list of the same number', '{"list_id":17}', now() - interval '2 h'),
        ('another', '{"job_id":18}', now())) as x (k, response, at)`);
    await account.page(
      'research_jobs',
      '[{"job_id":17,"status":"queued","created_at":"2020-01-01T00:00:00.5Z"}]',
    );
    await account.query(`
      insert into mirror.sync_log (_user_id, walk_id, collection, kind, started_at, ended_at, outcome, pages, items,
        inserted, updated, deleted, unchanged, quarantined, requests, rate_limited)
      select ${userId}, n, c, k, now() - interval '1 min', now() + interval '1 min', 'done', 1, 1, i, 0, 0, 0, 0, 1, 0
      from (values (1, 'research_jobs', 'poll', 1), (2, 'research_jobs', 'full', 0), (3, 'lists', 'full', 1)) as x (n, c, k, i)`);
    await account.page(
      'research_jobs',
      '[{"job_id":17,"status":"done","score":1.0,"created_at":"2020-01-01T00:00:00.5Z"}]',
    );
    await account.query(`
      insert into mirror.events (_user_id, id, type, received_at, _raw, _collection, _key) values
        (${userId}, 'evt_1', 'research.completed', (select _first_seen_at from mirror.research_jobs where _user_id = ${userId}),
          '{}', 'research_jobs', '17'),
        (${userId}, 'evt_2', 'list.analyzed', now(), '{}', 'lists', '17')`);
    const row = await story(account, 'research_jobs', ['17']);
    expect(told(row)).toEqual([
      'created',
      'queued research mine',
      'sent research mine',
      'answered: accepted 202',
      'event research.completed',
      'mirrored by poll',
      'changed score: nothing → 1.0,status: "queued" → "done"',
    ]);
    expect(row?.timeline.at(-1)?.at).toBe('2020-01-01T00:00:00.500000Z');
    expect(row).toMatchObject({ state: 'live', deletedAt: null, more: false });
    expect(row?.columns.map(({ name }) => name).slice(0, 4)).toEqual([
      'job_id',
      'status',
      'created_at',
      'score',
    ]);
    expect(row?.columns.map(({ name }) => name)).not.toContain('_hash');
    expect(row?.columns.find(({ name }) => name === 'score')?.value.text).toBe('1.0');
  });

  it('begins before it is mirrored, and is unknown where nothing names it', async () => {
    const account = await make();
    const { userId } = account.fence;
    await account.query(`
      insert into mirror.submissions (_user_id, operation, payload, target_id, state, created_at, done_at) values
        (${userId}, 'sequence', '{}', '77', 'queued', now(), null),
        (${userId}, 'list_analyze', '{}', '78', 'cancelled', now(), now())`);
    const row = await story(account, 'research_jobs', ['77']);
    expect(row).toMatchObject({ state: 'absent', columns: [], raw: null });
    expect(told(row)).toEqual(['queued sequence null']);
    expect(await story(account, 'research_jobs', ['78'])).toBeUndefined();
    expect(told(await story(account, 'lists', ['78']))).toEqual([
      'queued list_analyze null',
      'ended: cancelled null',
    ]);
  });
});

describe('the story of a row', () => {
  it('tells deletion and return, and what is suspected', async () => {
    const account = await make({ gracePeriodMs: 0 });
    await openHistory(account.database.db, account.fence, ['lists'], true);
    await account.observe('lists', '[{"list_id":1,"name":"a"}]');
    await account.observe('lists', '[]', { proof: { kind: 'snapshot' } });
    expect(told(await story(account, 'lists', ['1']))).toEqual(['mirrored by null', 'suspected']);
    await account.observe('lists', '[]', { proof: { kind: 'snapshot' } });
    await account.applyDeletions('lists', { accept: true });
    const gone = await story(account, 'lists', ['1']);
    expect(told(gone)).toEqual(['mirrored by null', 'deleted']);
    expect(gone?.state).toBe('deleted');
    await account.observe('lists', '[{"list_id":1,"name":"a"}]');
    await account.observe('lists', '[{"list_id":1,"name":"a"}]');
    expect(told(await story(account, 'lists', ['1']))).toEqual(['mirrored by null', 'deleted', 'undeleted']);
  });

  it.each([
    ['account', [], 'account', ''],
    ['bulk_research_jobs', ['5'], 'bulk_research_jobs', ''],
    ['list_items', ['7', "it's a:b/%"], 'list_items', '7'],
    ['watchlist', ["it's a:b/%"], 'watchlist', ''],
  ] as const)('is there for every table: %s', async (collection, key, _, parent) => {
    const account = await make();
    const { userId } = account.fence;
    const ids = { account: 'user_id', bulk_research_jobs: 'bulk_job_id', list_items: 'id', watchlist: 'id' };
    const id = collection === 'account' ? userId : (key.at(-1) ?? '');
    const number = collection === 'account' || collection === 'bulk_research_jobs';
    const item = (n: number) => `[{"${ids[collection]}":${number ? id : JSON.stringify(id)},"n":${n}}]`;
    await account.page(collection, item(1), { parent });
    await account.page(collection, item(2), { parent });
    const row = await story(account, collection, key);
    expect(told(row)).toEqual(['mirrored by null', 'changed n: 1 → 2']);
    const other = await make();
    expect(await story(other, collection, key)).toBeUndefined();
  });

  it('is bounded: the newest entries, the beginning of long values', async () => {
    const account = await make();
    const page = (n: number) =>
      account.page('watchlist', `[{"id":"w","n":${n},"text":"${'é'.repeat(30_000)}"}]`);
    for (let n = 1; n <= 5; n += 1) await page(n);
    const row = await story(account, 'watchlist', ['w'], 3);
    expect(told(row)).toEqual(['changed n: 2 → 3', 'changed n: 3 → 4', 'changed n: 4 → 5']);
    expect(row?.more).toBe(true);
    expect((await story(account, 'watchlist', ['w'], 5))?.more).toBe(false);
    const text = row?.columns.find(({ name }) => name === 'text')?.value;
    expect(text).toEqual({ text: 'é'.repeat(2_000), characters: 30_000 });
    expect(row?.raw?.text).toHaveLength(20_000);
    expect(row?.raw?.characters).toBeGreaterThan(30_000);
  });

  it('has an end where the row is removed, as far as its history is kept', async () => {
    const account = await make({ deletes: 'hard', gracePeriodMs: 0 });
    await account.observe('watchlist', '[{"id":"w","n":1}]');
    await account.observe('watchlist', '[{"id":"w","n":2}]');
    await account.observe('watchlist', '[]', { proof: { kind: 'snapshot' } });
    await account.observe('watchlist', '[]', { proof: { kind: 'snapshot' } });
    await account.applyDeletions('watchlist', { accept: true });
    const row = await story(account, 'watchlist', ['w']);
    expect(row?.state).toBe('deleted');
    expect(row?.deletedAt).toMatch(/Z$/);
    expect(told(row)).toEqual(['mirrored by null', 'changed n: 1 → 2', 'deleted']);
    expect(row?.columns.find(({ name }) => name === 'n')?.value.text).toBe('2');
  });

  it('is in whatever schema the mirror is in', () =>
    inOwnDatabase(async (own) => {
      const account = await MirroredAccount.make(own, '42');
      await account.page('lists', '[{"list_id":7}]');
      expect(told(await story(account, 'lists', ['7']))).toEqual(['mirrored by null']);
    }));
});
