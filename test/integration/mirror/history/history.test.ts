import { describe, expect, it } from 'vitest';
import { fenced } from '../../../../src/postgres/fenced.ts';
import { archiveRows, historyColumns } from '../../../../src/mirror/history.ts';
import { tableOf } from '../../../../src/mirror/table.ts';
import { changeId, MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';
import { deleteAllBut } from '../../../support/mirror/deleting.ts';
import { rowsWith } from '../../../support/mirror/search-everything.ts';
import { testAccounts } from '../../../support/mirror/test-accounts.ts';

const newAccount = testAccounts({ gracePeriodMs: 0 });

const versions = (account: MirroredAccount, columns = 'job_id') =>
  account.rowsOf(columns, 'mirror.research_jobs_history', 'order by _valid_to, _change_id');
/** Writes pages of job 1 with these statuses. */
const write = async (account: MirroredAccount, ...statuses: string[]): Promise<void> => {
  for (const status of statuses) await account.page('research_jobs', `[{"job_id":1,"status":"${status}"}]`);
};

describe('history', () => {
  it('has nothing after a first load, and then the image before the write, once, of each row that changed', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[{"job_id":1,"status":"a"},{"job_id":2,"status":"a"}]');
    expect(await versions(account)).toEqual([]);
    const changed = '[{"job_id":1,"status":"b"},{"job_id":2,"status":"a"},{"job_id":3,"status":"a"}]';
    await account.page('research_jobs', changed);
    await account.page('research_jobs', changed);
    const image = 'job_id, status, _raw::text, _change_id, _op, _valid_from < _valid_to as lasted';
    expect(await versions(account, image)).toEqual([`1 a {"job_id": 1, "status": "a"} ${changeId(1)} update true`]);
  });

  it('never overlaps when the database’s clock steps back', async () => {
    const account = await newAccount();
    await write(account, 'a', 'b');
    await account.age(-3_600_000);
    await write(account, 'c');
    const chain = `status, _is_current, _valid_from < _valid_to as lasted,
      _valid_to = lead(_valid_from) over (order by _change_id) as gapless`;
    const all = await account.rowsOf(chain, 'mirror.research_jobs_versions', 'order by _change_id');
    expect(all).toEqual(['a false true true', 'b false false true', 'c true - -']);
  });

  it('is archived for all rows or the transaction fails: a missing or deleted row has no version', async () => {
    const account = await newAccount();
    await account.page('research_jobs', '[{"job_id":1},{"job_id":2},{"job_id":3}]');
    await deleteAllBut(account, 'research_jobs', '[{"job_id":1},{"job_id":3}]', { accept: true });
    const { db } = account.database;
    const table = tableOf(db.schema, 'research_jobs');
    const columns = await historyColumns(db, table);
    const scope = account.scope('research_jobs');
    const archive = (keys: string[]) =>
      fenced(db, account.fence, (trx, at) => archiveRows(trx, table, scope, keys, at, 'delete', columns));
    for (const keys of [['1', '2'], ['4']]) {
      await expect(archive(keys)).rejects.toThrow(/\d of \d versions were archived/);
    }
    expect(await versions(account)).toEqual(['2']);
  });

  it('is not kept with MIRROR_HISTORY=off', async () => {
    const account = await newAccount({ history: false });
    await write(account, 'a', 'b');
    await deleteAllBut(account, 'research_jobs', '[]', { accept: true });
    expect(await versions(account)).toEqual([]);
  });
});

describe('a field that is never stored (MIRROR_EXCLUDE_FIELDS)', () => {
  const excluding = { excludeFields: { ...noFields(), bulk_research_jobs: ['secret'] } };
  const TABLES = ['bulk_research_jobs', 'bulk_research_jobs_history'];
  const traces = async ({ database }: MirroredAccount): Promise<number> =>
    (await rowsWith(database.db, 'hidden')).length;

  it('is in no row, no version and no verbatim text', async () => {
    const account = await newAccount(excluding);
    const text = '\\u0000';
    for (const n of [1, 2]) {
      await account.page('bulk_research_jobs', `[{"bulk_job_id":1,"n":${n},"secret":"hidden","text":"${text}"}]`);
    }
    const verbatim = await account.rowsOf('_verbatim', 'mirror.bulk_research_jobs_history');
    expect(verbatim).toEqual([`{"bulk_job_id":1,"n":1,"text":"${text}"}`]);
    expect(await traces(account)).toBe(0);
  });

  it('is removed from rows as soon as they are read, and from versions by the recipe of docs/privacy.md', async () => {
    const before = await newAccount();
    const [one, two] = [1, 2].map((id) => `{"bulk_job_id":${id},"n":1,"secret":"hidden"}`);
    await before.page('bulk_research_jobs', `[${one},${two}]`);
    await deleteAllBut(before, 'bulk_research_jobs', `[${one}]`, { accept: true });
    const account = await MirroredAccount.make(before.database, before.fence.userId, excluding);
    const outcomes = ['unchanged'];
    expect(await account.page('bulk_research_jobs', `[${one}]`)).toMatchObject({ outcomes });
    // The deleted row and its last version.
    expect(await traces(account)).toBe(2);
    for (const name of TABLES) {
      await account.query(`
        update mirror.${name} set _raw = _raw - 'secret', _verbatim = null, secret = null where _raw ? 'secret'`);
    }
    expect(await traces(account)).toBe(0);
  });
});
