import { describe, expect, it } from 'vitest';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';
import { testAccounts } from '../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

interface Quarantined {
  readonly item: string;
  readonly key: string | null;
  readonly reason: string;
}

const quarantined = (account: MirroredAccount): Promise<Quarantined[]> =>
  account.query<Quarantined>(
    `select item, key, reason from mirror.quarantine where _user_id = ${account.fence.userId} order by item`,
  );

describe('an item that can’t be mirrored', () => {
  it('is quarantined alone, and its page goes on', async () => {
    const account = await newAccount();
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const bad = [
      '{"status":"no id"}',
      '{"job_id":"abc"}',
      '{"job_id":6,"n":1e200000}',
      `{"job_id":7,"n":${deep}}`,
    ];
    const good = Array.from({ length: 40 }, (_, index) => `{"job_id":${100 + index}}`);
    const result = await account.page('research_jobs', `[${[...good, ...bad, '{"job_id":9}'].join()}]`);
    expect(result).toMatchObject({ counts: { inserted: 41, quarantined: 4 } });
    expect(result.state === 'applied' && result.outcomes.slice(40)).toEqual([
      'quarantined',
      'quarantined',
      'quarantined',
      'quarantined',
      'inserted',
    ]);
    expect((await quarantined(account)).map(({ key, reason }) => [key, reason.slice(0, 40)])).toEqual(
      expect.arrayContaining([
        [null, 'has no cursor ID'],
        [null, 'has a cursor ID that is no 64-bit intege'],
        ['6', expect.stringContaining('is refused by Postgres: ')],
        ['7', expect.stringContaining('is refused by Postgres: ')],
      ]),
    );
    expect(
      await account.query(`select live_rows from mirror.freshness where _user_id = ${account.fence.userId}`),
    ).toEqual([{ live_rows: '41' }]);
    expect(
      await account.query(
        `select quarantined_items from mirror.data_quality where _user_id = ${account.fence.userId}`,
      ),
    ).toEqual([{ quarantined_items: '4' }]);
  });

  it('is quarantined once, and neither it nor its page is written again while nothing changes', async () => {
    const account = await newAccount();
    const page = '[{"job_id":1},{"job_id":2,"n":1e200000},{"status":"no id"}]';
    await account.page('research_jobs', page);
    const rows = `select item_hash, xmin::text, xmax::text, last_seen_at from mirror.quarantine where _user_id = ${account.fence.userId}`;
    const before = await account.query(rows);
    const again = await account.page('research_jobs', page);
    expect(again).toMatchObject({
      outcomes: ['unchanged', 'quarantined', 'quarantined'],
      changed: undefined,
    });
    const restarted = await MirroredAccount.make(account.database, account.fence.userId);
    expect(await restarted.page('research_jobs', page)).toMatchObject({
      outcomes: ['unchanged', 'quarantined', 'quarantined'],
    });
    expect(await account.query(rows)).toEqual(before);
  });

  it('leaves the quarantine when its key comes in a form that can be mirrored', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[{"job_id":2,"n":1e200000}]');
    expect(await quarantined(account)).toHaveLength(1);
    await account.page('research_jobs', '[{"job_id":2,"n":1}]');
    expect(await quarantined(account)).toEqual([]);
  });

  it('keeps the row that its key had', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[{"job_id":2,"status":"good"}]');
    const result = await account.page('research_jobs', '[{"job_id":2,"status":"bad","n":1e200000}]');
    expect(result).toMatchObject({ outcomes: ['quarantined'], changed: undefined });
    expect(
      await account.query(`select status from mirror.research_jobs where _user_id = ${account.fence.userId}`),
    ).toEqual([{ status: 'good' }]);
  });

  it('is also one that a constraint of the operator’s refuses', async () => {
    const account = await newAccount();
    await account.query("alter table mirror.watchlist add constraint own check (id <> 'bad')");
    const result = await account.page('watchlist', '[{"id":"a"},{"id":"bad"},{"id":"c"}]');
    expect(result).toMatchObject({ outcomes: ['inserted', 'quarantined', 'inserted'] });
    await account.query('alter table mirror.watchlist drop constraint own');
    expect(await account.page('watchlist', '[{"id":"bad"}]')).toMatchObject({ outcomes: ['inserted'] });
  });
});

describe('characters that jsonb can’t hold', () => {
  it('are replaced in _raw and columns, and the verbatim text is kept', async () => {
    const account = await newAccount();
    const item = String.raw`{"job_id":1,"title":"a\u0000b \ud83d \ud83d\ude00 \\u0000","k\u0000":1}`;
    expect(await account.page('research_jobs', `[${item}]`)).toMatchObject({ outcomes: ['inserted'] });
    const where = `where _user_id = ${account.fence.userId}`;
    const [row] = await account.query(`select title, _raw, _verbatim from mirror.research_jobs ${where}`);
    expect(row).toEqual({
      title: 'a\ufffdb \ufffd \u{1f600} \\u0000',
      _raw: { job_id: 1, title: 'a\ufffdb \ufffd \u{1f600} \\u0000', 'k\ufffd': 1 },
      _verbatim: item,
    });
    expect(await account.page('research_jobs', `[${item}]`)).toMatchObject({ outcomes: ['unchanged'] });
    const healed = '[{"job_id":1,"title":"plain"}]';
    expect(await account.page('research_jobs', healed)).toMatchObject({ outcomes: ['updated'] });
    expect(await account.query(`select _verbatim from mirror.research_jobs ${where}`)).toEqual([
      { _verbatim: null },
    ]);
  });
});

describe('numbers', () => {
  it('keep every digit', async () => {
    const account = await newAccount();
    const digits = '1234567890'.repeat(40);
    const numbers = [digits, `0.${digits}`, '9007199254740993', '1e400', '-0', '1.50'];
    const items = numbers.map((number, index) => `{"job_id":${index},"exact":${number}}`);
    await account.page('research_jobs', `[${items.join()}]`);
    const rows = await account.query<{ exact: string; raw: string }>(
      `select exact, _raw ->> 'exact' as raw from mirror.research_jobs
       where _user_id = ${account.fence.userId} order by job_id`,
    );
    const stored = [digits, `0.${digits}`, '9007199254740993', `1${'0'.repeat(400)}`, '0', '1.50'];
    expect(rows).toEqual(stored.map((exact) => ({ exact, raw: exact })));
  });

  it('differ when a digit beyond double precision differs', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[{"job_id":1,"exact":9007199254740993}]');
    const result = await account.page('research_jobs', '[{"job_id":1,"exact":9007199254740992}]');
    expect(result).toMatchObject({ outcomes: ['updated'] });
  });
});
