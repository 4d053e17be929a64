import { describe, expect, it } from 'vitest';
import { fenced } from '../../../../src/postgres/fenced.ts';
import { archiveRows, historyColumns } from '../../../../src/mirror/history.ts';
import { tableOf } from '../../../../src/mirror/table.ts';
import { lines } from '../../../support/mirror/lines.ts';
import { changeId, MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';
import { deleteAllBut } from '../../../support/mirror/deleting.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts({ gracePeriodMs: 0 });

const versions = (account: MirroredAccount, columns = 'job_id') =>
  lines(
    account,
    `select ${columns} from mirror.research_jobs_history where _user_id = ${account.fence.userId} order by _valid_to, _change_id`,
  );

describe('history', () => {
  it('has nothing after a first load, and then the image before the write, once, of each row that changed', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[{"job_id":1,"status":"a"},{"job_id":2,"status":"a"}]');
    expect(await versions(account)).toEqual([]);
    const changed = '[{"job_id":1,"status":"b"},{"job_id":2,"status":"a"},{"job_id":3,"status":"a"}]';
    await account.page('research_jobs', changed);
    await account.page('research_jobs', changed);
    const image = 'job_id, status, _raw::text, _change_id, _op, _valid_from < _valid_to as lasted';
    expect(await versions(account, image)).toEqual([
      `1 a {"job_id": 1, "status": "a"} ${changeId(1)} update true`,
    ]);
  });

  it('has no gap and no overlap for a row, except for the time of a deletion', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[{"job_id":1,"status":"a"}]');
    await account.page('research_jobs', '[{"job_id":1,"status":"b"}]');
    await account.page('research_jobs', '[{"job_id":1,"status":"c"}]');
    await deleteAllBut(account, 'research_jobs', '[]', { accept: true });
    await account.page('research_jobs', '[{"job_id":1,"status":"c"}]');
    await account.page('research_jobs', '[{"job_id":1,"status":"d"}]');
    const chain = `
      select status, _op, _is_current, _valid_to = lead(_valid_from) over w as gapless,
        _valid_to < lead(_valid_from) over w as gap, _change_id
      from mirror.research_jobs_versions where _user_id = ${account.fence.userId}
      window w as (order by _change_id) order by _change_id`;
    expect(await lines(account, chain)).toEqual([
      `a update false true false ${changeId(1)}`,
      `b update false true false ${changeId(2)}`,
      `c delete false false true ${changeId(3)}`,
      `c update false true false ${changeId(5)}`,
      `d - true - - ${changeId(6)}`,
    ]);
  });

  it('never overlaps when the database’s clock steps back', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[{"job_id":1,"status":"a"}]');
    await account.page('research_jobs', '[{"job_id":1,"status":"b"}]');
    await account.age(-3_600_000);
    await account.page('research_jobs', '[{"job_id":1,"status":"c"}]');
    const chain = `
      select status, _valid_from < _valid_to as lasted, _valid_to = lead(_valid_from) over (order by _change_id) as gapless
      from mirror.research_jobs_versions where _user_id = ${account.fence.userId} order by _change_id`;
    expect(await lines(account, chain)).toEqual(['a true true', 'b false true', 'c - -']);
  });

  it('is archived for all rows or the transaction fails: a missing or deleted row has no version', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[{"job_id":1},{"job_id":2},{"job_id":3}]');
    await deleteAllBut(account, 'research_jobs', '[{"job_id":1},{"job_id":3}]', { accept: true });
    const { db } = account.database;
    const table = tableOf(db.schema, 'research_jobs');
    const columns = await historyColumns(db, table);
    const scope = account.scope('research_jobs');
    for (const keys of [['1', '2'], ['4']]) {
      const archive = fenced(db, account.fence, (trx, at) =>
        archiveRows(trx, table, scope, keys, at, 'delete', columns),
      );
      await expect(archive).rejects.toThrow(/versions were to be archived/);
    }
    expect(await versions(account)).toEqual(['2']);
  });

  it('is not kept with MIRROR_HISTORY=off', async () => {
    const account = await newAccount({ history: false });
    await account.page('research_jobs', '[{"job_id":1,"status":"a"},{"job_id":2,"status":"a"}]');
    await account.page('research_jobs', '[{"job_id":1,"status":"b"}]');
    await deleteAllBut(account, 'research_jobs', '[{"job_id":1,"status":"b"}]', { accept: true });
    expect(await versions(account)).toEqual([]);
  });
});

describe('a field that is never stored (MIRROR_EXCLUDE_FIELDS)', () => {
  const excluding = { excludeFields: { ...noFields(), bulk_research_jobs: ['secret'] } };
  const traces = async (account: MirroredAccount): Promise<number> => {
    const places = ['bulk_research_jobs', 'bulk_research_jobs_history'].map(
      (name) =>
        `select 1 from mirror.${name} t where _user_id = ${account.fence.userId} and t::text like '%hidden%'`,
    );
    return (await account.query(places.join(' union all '))).length;
  };

  it('is in no row, no version and no verbatim text', async () => {
    const account = await newAccount(excluding);
    for (const n of [1, 2]) {
      await account.page(
        'bulk_research_jobs',
        `[{"bulk_job_id":1,"n":${n},"secret":"hidden","text":"\\u0000"}]`,
      );
    }
    const verbatim = `select _verbatim from mirror.bulk_research_jobs_history where _user_id = ${account.fence.userId}`;
    expect(await lines(account, verbatim)).toEqual(['{"bulk_job_id":1,"n":1,"text":"\\u0000"}']);
    expect(await traces(account)).toBe(0);
  });

  it('is removed from rows as soon as they are read, and from versions by the recipe of docs/recipes.md', async () => {
    const before = await newAccount();
    const page = '[{"bulk_job_id":1,"n":1,"secret":"hidden"},{"bulk_job_id":2,"n":1,"secret":"hidden"}]';
    await before.page('bulk_research_jobs', page);
    await deleteAllBut(before, 'bulk_research_jobs', '[{"bulk_job_id":1,"n":1,"secret":"hidden"}]', {
      accept: true,
    });
    const account = await MirroredAccount.make(before.database, before.fence.userId, excluding);
    expect(
      await account.page('bulk_research_jobs', '[{"bulk_job_id":1,"n":1,"secret":"hidden"}]'),
    ).toMatchObject({
      outcomes: ['unchanged'],
    });
    // The deleted row and its last version.
    expect(await traces(account)).toBe(2);
    for (const name of ['bulk_research_jobs', 'bulk_research_jobs_history']) {
      await account.query(
        `update mirror.${name} set _raw = _raw - 'secret', _verbatim = null, secret = null where _raw ? 'secret'`,
      );
    }
    expect(await traces(account)).toBe(0);
  });
});
