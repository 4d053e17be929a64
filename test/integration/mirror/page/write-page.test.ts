import { pageRecord } from '../../../support/mirror/page-record.ts';
import { Db } from '../../../../src/postgres/db.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { DatabaseWentBack } from '../../../../src/model/errors.ts';
import { Superseded } from '../../../../src/mirror/scope-store.ts';
import { proveAbsent, SNAPSHOT } from '../../../support/mirror/deleting.ts';
import { changeId, itemsOf, MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

interface Row {
  readonly job_id: string;
  readonly status: string | null;
  readonly _change_id: string;
  readonly xmin: string;
  readonly _deleted_at: Date | null;
  readonly moved: boolean;
}

const jobs = (account: MirroredAccount): Promise<Row[]> =>
  account.query<Row>(
    `select job_id, status, _change_id, xmin::text as xmin, _deleted_at, _changed_at > _first_seen_at as moved
     from mirror.research_jobs where _user_id = ${account.fence.userId} order by job_id`,
  );

let account: MirroredAccount;
let user: string;
beforeEach(async () => {
  account = await newAccount();
  user = account.fence.userId;
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
    const before = await jobs(account);
    const second = await account.page(
      'research_jobs',
      '[{"job_id":3,"status":"open"},{"status":"completed","job_id":2},{"job_id":1, "status":"completed"}]',
    );
    expect(second).toMatchObject({
      outcomes: ['unchanged', 'updated', 'unchanged'],
      counts: { inserted: 0, updated: 1, unchanged: 2 },
      changed: { changeId: changeId(4) },
    });
    const after = await jobs(account);
    expect(after.map(({ status, _change_id, moved }) => [status, _change_id, moved])).toEqual([
      ['completed', changeId(3), false],
      ['completed', changeId(4), true],
      ['open', changeId(1), false],
    ]);
    expect(after.map(({ xmin }, index) => xmin === before[index]?.xmin)).toEqual([true, false, true]);
  });

  /** Physical places of rows: a write moves a row, a lock leaves its transaction in xmax. */
  const places = (...tables: readonly string[]): Promise<unknown[]> =>
    account.query(
      tables
        .map((name) => `select ctid::text, xmin::text, xmax::text from ${name} where _user_id = ${user}`)
        .join(' union all '),
    );

  it('that is unchanged writes the scope’s row and nothing else', async () => {
    const page = `[${Array.from({ length: 500 }, (_, id) => `{"job_id":${id},"status":"open"}`).join()}]`;
    await account.page('research_jobs', page);
    const all = () =>
      Promise.all([
        places('mirror.research_jobs', 'mirror._collections', 'mirror_sync.unsettled'),
        // Locked by the fence.
        account.query(`select ctid::text, xmin::text from mirror_sync.account where _user_id = ${user}`),
      ]);
    const before = await all();
    const result = await account.page('research_jobs', page);
    expect(result).toMatchObject({ counts: { unchanged: 500 }, changed: undefined });
    expect(before.flat()).toHaveLength(500 + 1 + 500 + 1);
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
    expect(await account.page('research_jobs', '[{"job_id":1,"status":"a"}]')).toMatchObject({
      outcomes: ['updated'],
    });
  });

  it('is not applied after a later observation, nor for an unknown scope', async () => {
    await account.page('research_jobs', '[{"job_id":1,"status":"new"}]', { obs: 5 });
    await expect(
      account.page('research_jobs', '[{"job_id":1,"status":"old"},{"job_id":2}]', { obs: 5, after: 0 }),
    ).rejects.toBeInstanceOf(Superseded);
    expect(await jobs(account)).toMatchObject([{ status: 'new' }]);
    const items = itemsOf('watchlist', '[{"id":"a"}]');
    const page = pageRecord({ scope: account.scope('watchlist'), obs: 1, after: 0 }, { items });
    // A reader of a scope has added its row: if the row is missing, the database went back.
    const unknown = account.mirror.applyPage(account.fence, page);
    await expect(unknown).rejects.toBeInstanceOf(DatabaseWentBack);
    expect(await account.query(`select 1 from mirror.watchlist where _user_id = ${user}`)).toEqual([]);
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
    for (let times = 1; times <= 2; times += 1) {
      expect(await account.observe('research_jobs', page, { proof: SNAPSHOT })).toMatchObject({
        outcomes: ['unchanged', 'quarantined'],
      });
    }
    expect(await account.suspects('research_jobs')).toMatchObject([{ key: '3' }]);
  });

  it('of which Postgres refuses rows counts those that are written, and reports the last of them', async () => {
    const where = `where _user_id = ${account.fence.userId}`;
    await account.query(
      `alter table mirror.research_jobs add constraint theirs
       check (_user_id <> ${account.fence.userId} or _raw ->> 'note' <> 'bad')`,
    );
    const item = (id: number, note: string): string => `{"job_id":${id},"status":"open","note":"${note}"}`;
    const items = [item(1, 'good'), item(2, 'bad'), '{"job_id":3,"status":5,"note":"bad"}'];
    expect(await account.page('research_jobs', `[${items.join()}]`)).toMatchObject({
      outcomes: ['inserted', 'quarantined', 'quarantined'],
      counts: { inserted: 1, quarantined: 2 },
      changed: { changeId: changeId(1) },
    });
    const stored = `select live_rows, (select array_agg(key) from mirror_sync.unsettled ${where}) as unfinished from mirror.freshness ${where}`;
    expect(await account.query(stored)).toEqual([{ live_rows: '1', unfinished: ['1'] }]);
    const refused = await account.page('research_jobs', `[${item(4, 'bad')}]`);
    expect(refused).toMatchObject({ outcomes: ['quarantined'], changed: undefined });
    await account.query('alter table mirror.research_jobs drop constraint theirs');
  });
});

describe('fields that settings name', () => {
  it('make no change when they are ignored, and are stored nowhere when they are excluded', async () => {
    const account = await newAccount({
      ignoreFields: { ...noFields(), research_jobs: ['views'] },
      excludeFields: { ...noFields(), research_jobs: ['secret'] },
    });
    await account.page('research_jobs', '[{"job_id":1,"status":"a","views":1,"secret":"s3"}]');
    const same = await account.page('research_jobs', '[{"job_id":1,"status":"a","views":2,"secret":"t4"}]');
    expect(same).toMatchObject({ outcomes: ['unchanged'] });
    await account.page('research_jobs', '[{"job_id":1,"status":"b","views":3,"secret":"s3"}]');
    expect(
      await account.query(
        `select views, _raw from mirror.research_jobs where _user_id = ${account.fence.userId}`,
      ),
    ).toEqual([{ views: '3', _raw: { job_id: 1, status: 'b', views: 3 } }]);
    expect(await account.query(`select 1 from mirror.columns where field = 'secret'`)).toEqual([]);
  });
});

describe('the account', () => {
  it.each([
    ['12.50', '12.50'],
    ['12345678901234567890.123456789', '12345678901234567890.123456789'],
    ['"7.25"', '7.25'],
    ['{"balance":12.5,"unit":"credits"}', '12.5'],
    ['{"balance":1250,"unit":"cents"}', '12.50'],
    ['{"balance_cents":"1250"}', '12.50'],
    ['null', null],
    ['"plenty"', null],
    ['[1]', null],
  ])('has credits %s as %s', async (credits, stored) => {
    await account.single(
      `{"object":"account","user_id":1,"email":"a@b.example","credits":${credits},"plan":"x"}`,
    );
    expect(
      await account.query(
        `select credits, email, _raw ->> 'plan' as raw from mirror.account where _user_id = ${user}`,
      ),
    ).toEqual([{ credits: stored, email: 'a@b.example', raw: 'x' }]);
  });

  it('is one row, written again only when it differs', async () => {
    expect(await account.single('{"credits":1}')).toMatchObject({ outcomes: ['inserted'] });
    expect(await account.single('{"credits":1}')).toMatchObject({ outcomes: ['unchanged'] });
    expect(await account.single('{"credits":2}')).toMatchObject({ outcomes: ['updated'] });
    expect(await account.single('{"credits":3}', 60_000)).toMatchObject({ outcomes: ['deferred'] });
    await account.age(60_000);
    expect(await account.single('{"credits":3}', 59_000)).toMatchObject({ outcomes: ['updated'] });
  });
});
