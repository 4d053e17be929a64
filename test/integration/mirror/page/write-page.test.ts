import { pageRecord } from '../../../support/mirror/page-record.ts';
import { Db } from '../../../../src/postgres/db.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { DatabaseWentBack } from '../../../../src/model/errors.ts';
import { Superseded } from '../../../../src/mirror/scope-store.ts';
import { proveAbsent, SNAPSHOT } from '../../../support/mirror/deleting.ts';
import { changeId, itemsOf, MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

let account: MirroredAccount;
beforeEach(async () => {
  account = await newAccount();
});

describe('a page', () => {
  it('becomes rows, and the second page writes only what differs', async () => {
    const first = await account.page(
      'research_jobs',
      '[{"job_id":3,"status":"open"},{"job_id":2,"status":"open"},{"job_id":1,"status":"completed"}]',
    );
    expect(first).toMatchObject({
      state: 'applied',
      outcomes: ['inserted', 'inserted', 'inserted'],
      changed: { table: 'research_jobs', userId: account.fence.userId, changeId: changeId(3) },
    });
    const written = () => account.rowsOf('xmin::text', 'mirror.research_jobs', 'order by job_id');
    const before = await written();
    const second = await account.page(
      'research_jobs',
      '[{"job_id":3,"status":"open"},{"status":"completed","job_id":2},{"job_id":1, "status":"completed"}]',
    );
    expect(second).toMatchObject({
      outcomes: ['unchanged', 'updated', 'unchanged'],
      counts: { inserted: 0, updated: 1, unchanged: 2 },
      changed: { changeId: changeId(4) },
    });
    const columns = 'status, _change_id, _changed_at > _first_seen_at as moved';
    expect(await account.rowsOf(columns, 'mirror.research_jobs', 'order by job_id')).toEqual([
      `completed ${changeId(3)} false`,
      `completed ${changeId(4)} true`,
      `open ${changeId(1)} false`,
    ]);
    const after = await written();
    expect(after.map((xmin, index) => xmin === before[index])).toEqual([true, false, true]);
  });

  /** Physical places of rows: a write moves a row, a lock leaves its transaction in xmax. */
  const places = async (...tables: readonly string[]): Promise<readonly string[]> =>
    (await Promise.all(tables.map((name) => account.rowsOf('ctid, xmin, xmax', name)))).flat();

  it('that is unchanged writes the scope’s row and nothing else', async () => {
    const page = `[${Array.from({ length: 500 }, (_, id) => `{"job_id":${id},"status":"open"}`).join()}]`;
    await account.page('research_jobs', page);
    const all = async () => [
      ...(await places('mirror.research_jobs', 'mirror._collections', 'mirror_sync.unsettled')),
      // Locked by the fence.
      ...(await account.rowsOf('ctid, xmin', 'mirror_sync.account')),
    ];
    const before = await all();
    const result = await account.page('research_jobs', page);
    expect(result).toMatchObject({ counts: { unchanged: 500 }, changed: undefined });
    expect(before).toHaveLength(500 + 1 + 500 + 1);
    expect(await all()).toEqual(before);
  });

  it('that is unchanged writes nothing more if the rows that it proves absent are suspected already', async () => {
    await account.observe('research_jobs', '[{"job_id":1},{"job_id":2}]');
    await proveAbsent(account, 'research_jobs', '[{"job_id":1}]');
    const all = () => places('mirror.research_jobs', 'mirror_sync.candidate', 'mirror._collections');
    const before = await all();
    expect(before).toHaveLength(2 + 1 + 1);
    await account.observe('research_jobs', '[{"job_id":1}]', { proof: SNAPSHOT });
    expect(await all()).toEqual(before);
  });

  it('that is unchanged costs five round trips: begin, fence, read, checkpoint, commit; one more for what it proves', async () => {
    let sent = 0;
    const { database, fence } = await newAccount();
    const counting = database.kysely.withPlugin({
      transformQuery: ({ node }) => {
        sent += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const account = await MirroredAccount.make({ ...database, db: new Db(counting, 'mirror') }, fence.userId);
    const page = '[{"job_id":1},{"job_id":2}]';
    const statements = async (more: Parameters<MirroredAccount['observe']>[2] = {}): Promise<number> => {
      sent = 0;
      expect(await account.observe('research_jobs', page, more)).toMatchObject({ counts: { unchanged: 2 } });
      return sent;
    };
    await account.page('research_jobs', page);
    // The plugin sees no begin and no commit.
    expect(await statements()).toBe(3);
    expect(await statements({ contradiction: true })).toBe(3);
    expect(await statements({ proof: SNAPSHOT })).toBe(4);
    // A page without proof may show a suspected row.
    await account.observe('research_jobs', '[{"job_id":3}]');
    await account.age(account.gracePeriodMs);
    await account.observe('research_jobs', page, { proof: SNAPSHOT });
    expect(await statements()).toBe(4);
  });

  it('is believed at once if history is no longer kept, though some is there', async () => {
    const kept = await newAccount();
    await kept.page('research_jobs', '[{"job_id":1,"status":"a"}]');
    await kept.page('research_jobs', '[{"job_id":1,"status":"b"}]');
    const account = await MirroredAccount.make(kept.database, kept.fence.userId, { history: false });
    const page = await account.page('research_jobs', '[{"job_id":1,"status":"a"}]');
    expect(page).toMatchObject({ outcomes: ['updated'] });
  });

  it('is not applied after a later observation, nor for an unknown scope', async () => {
    await account.page('research_jobs', '[{"job_id":1,"status":"new"}]', { obs: 5 });
    const old = '[{"job_id":1,"status":"old"},{"job_id":2}]';
    const late = account.page('research_jobs', old, { obs: 5, after: 0 });
    await expect(late).rejects.toBeInstanceOf(Superseded);
    expect(await account.rowsOf('status', 'mirror.research_jobs')).toEqual(['new']);
    const items = itemsOf('watchlist', '[{"id":"a"}]');
    const page = pageRecord({ scope: account.scope('watchlist'), obs: 1, after: 0 }, { items });
    // A reader of a scope has added its row: if the row is missing, the database went back.
    const unknown = account.mirror.applyPage(account.fence, page);
    await expect(unknown).rejects.toBeInstanceOf(DatabaseWentBack);
    expect(await account.rowsOf('id', 'mirror.watchlist')).toEqual([]);
  });

  it('suspects rows from when it is written, however long ago its request was sent', async () => {
    await account.observe('research_jobs', '[{"job_id":1},{"job_id":2}]');
    await account.age(2 * account.gracePeriodMs);
    const [before] = await account.query<{ now: Date }>('select now()');
    const sentAgo = account.gracePeriodMs / 2;
    await account.observe('research_jobs', '[{"job_id":1}]', { proof: SNAPSHOT, sentAgo });
    const [suspect] = await account.suspects('research_jobs');
    expect(suspect?.at).toBeGreaterThanOrEqual(before?.now.getTime() ?? Infinity);
  });

  it('proves no row absent whose item on it can’t be mirrored', async () => {
    await account.observe('research_jobs', '[{"job_id":1},{"job_id":2},{"job_id":3}]');
    await account.age(2 * account.gracePeriodMs);
    const page = '[{"job_id":1},{"job_id":2,"n":1e999999}]';
    // The second time it is known to be refused.
    const outcomes = ['unchanged', 'quarantined'];
    for (let times = 1; times <= 2; times += 1) {
      expect(await account.observe('research_jobs', page, { proof: SNAPSHOT })).toMatchObject({ outcomes });
    }
    expect(await account.suspects('research_jobs')).toMatchObject([{ key: '3' }]);
  });

  it('of which Postgres refuses rows counts those that are written, and reports the last of them', async () => {
    await account.query(`alter table mirror.research_jobs add constraint theirs
      check (_user_id <> ${account.fence.userId} or _raw ->> 'note' <> 'bad')`);
    const item = (id: number, note: string): string => `{"job_id":${id},"status":"open","note":"${note}"}`;
    const items = [item(1, 'good'), item(2, 'bad'), '{"job_id":3,"status":5,"note":"bad"}'];
    expect(await account.page('research_jobs', `[${items.join()}]`)).toMatchObject({
      outcomes: ['inserted', 'quarantined', 'quarantined'],
      counts: { inserted: 1, quarantined: 2 },
      changed: { changeId: changeId(1) },
    });
    expect(await account.rowsOf('live_rows', 'mirror.freshness')).toEqual(['1']);
    expect(await account.rowsOf('key', 'mirror_sync.unsettled')).toEqual(['1']);
    const refused = await account.page('research_jobs', `[${item(4, 'bad')}]`);
    expect(refused).toMatchObject({ outcomes: ['quarantined'], changed: undefined });
    await account.query('alter table mirror.research_jobs drop constraint theirs');
  });
});

it('fields that settings name make no change when they are ignored, and are stored nowhere when they are excluded', async () => {
  const account = await newAccount({
    ignoreFields: { ...noFields(), research_jobs: ['views'] },
    excludeFields: { ...noFields(), research_jobs: ['secret'] },
  });
  await account.page('research_jobs', '[{"job_id":1,"status":"a","views":1,"secret":"s3"}]');
  const same = await account.page('research_jobs', '[{"job_id":1,"status":"a","views":2,"secret":"t4"}]');
  expect(same).toMatchObject({ outcomes: ['unchanged'] });
  await account.page('research_jobs', '[{"job_id":1,"status":"b","views":3,"secret":"s3"}]');
  const stored = await account.rowsOf('views, _raw::text', 'mirror.research_jobs');
  expect(stored).toEqual(['3 {"views": 3, "job_id": 1, "status": "b"}']);
  expect(await account.query(`select 1 from mirror.columns where field = 'secret'`)).toEqual([]);
});

describe('the account', () => {
  it.each([
    ['12.50', '12.50'],
    ['12345678901234567890.123456789', '12345678901234567890.123456789'],
    ['"7.25"', '7.25'],
    ['{"balance":12.5,"unit":"credits"}', '12.5'],
    ['{"balance":1250,"unit":"cents"}', '12.50'],
    ['{"balance_cents":"1250"}', '12.50'],
    ['null', '-'],
    ['"plenty"', '-'],
    ['[1]', '-'],
  ])('has credits %s as %s', async (credits, stored) => {
    await account.single(`{"object":"account","user_id":1,"email":"a@b.example","credits":${credits},"plan":"x"}`);
    const row = await account.rowsOf(`credits, email, _raw ->> 'plan' as raw`, 'mirror.account');
    expect(row).toEqual([`${stored} a@b.example x`]);
  });

  it('is one row, written again only when it differs', async () => {
    const read = async (credits: number, outcome: string, copiedMs?: number) =>
      expect(await account.single(`{"credits":${credits}}`, copiedMs)).toMatchObject({ outcomes: [outcome] });
    await read(1, 'inserted');
    await read(1, 'unchanged');
    await read(2, 'updated');
    await read(3, 'deferred', 60_000);
    await account.age(60_000);
    await read(3, 'updated', 59_000);
  });
});
