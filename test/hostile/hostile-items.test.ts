import { describe, expect, it } from 'vitest';
import { testAccounts } from '../support/mirror/test-accounts.ts';

const newAccount = testAccounts();

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
