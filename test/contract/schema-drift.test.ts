import { beforeAll, describe, expect, it } from 'vitest';
import type { StatusReport } from '../../src/status/status-report.ts';
import { lines } from '../support/mirror/lines.ts';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';
import { mirrorCommands } from '../support/mirror/mirror-commands.ts';
import { runProgram } from '../support/processes/program.ts';

const mirror = mirrorCommands();
const { run, wrongUsage } = mirror;
let account: MirroredAccount;

/** Before anything was mirrored, so that the first load is frozen, too. */
beforeAll(async () => {
  account = await MirroredAccount.make(mirror.database, '43', { schemaDrift: 'freeze' });
  const other = await MirroredAccount.make(mirror.database, '44', { schemaDrift: 'freeze' });
  const item = (id: number) => `{"job_id":${id},"status":"done","colour":"red","A size":1,"void":null}`;
  await account.page('research_jobs', `[${item(1)},${item(2)}]`);
  await other.page('research_jobs', `[${item(1)}]`);
  await account.page('lists', '[{"list_id":1,"note.text":"x"}]');
});

const waiting = async (env: Readonly<Record<string, string>> = { MIRROR_SCHEMA_DRIFT: 'freeze' }) => {
  const options = { cwd: mirror.cwd, env: { DATABASE_URL: mirror.database.url, ...env } };
  const { stdout } = await runProgram(['status', '--json'], options);
  const { problems } = JSON.parse(stdout) as StatusReport;
  return problems.filter(({ cause }) => cause === 'fields_waiting');
};

const columnsOf = (table: string) =>
  lines(
    account,
    `select column_name from mirror.columns where collection = '${table}' and column_name is not null order by 1`,
  );

describe('MIRROR_SCHEMA_DRIFT=freeze', () => {
  it('makes the columns of the specification alone, and is one problem for each collection with new fields', async () => {
    expect(await columnsOf('research_jobs')).toEqual(['job_id', 'status']);
    expect(await lines(account, 'select distinct status from mirror.research_jobs')).toEqual(['done']);
    expect(await waiting()).toEqual([
      expect.objectContaining({ affects: ['lists ("note.text")'] }),
      {
        cause: 'fields_waiting',
        what: 'new fields of research_jobs have no column, because MIRROR_SCHEMA_DRIFT=freeze',
        since: expect.any(String) as string,
        affects: ['research_jobs ("A size", "colour")'],
        byItself: 'their values stay in _raw; everything else is mirrored',
        remedy: 'run "research-mirror columns accept research_jobs" to add columns for them',
      },
    ]);
  });

  it('is no problem with another setting, or where the fields are stored no more', async () => {
    expect(await waiting({})).toEqual([]);
    expect(await waiting({ MIRROR_SCHEMA_DRIFT: 'raw' })).toEqual([]);
    const MIRROR_EXCLUDE_FIELDS = 'research_jobs.colour,research_jobs.A size,lists.other';
    const left = await waiting({ MIRROR_SCHEMA_DRIFT: 'freeze', MIRROR_EXCLUDE_FIELDS });
    expect(left.map(({ affects }) => affects)).toEqual([['lists ("note.text")']]);
  });

  it('accepts a field: the column is written from then on, filled in rows and history, and nothing counts as changed', async () => {
    await account.page('research_jobs', '[{"job_id":2,"status":"late","colour":"blue","A size":1}]');
    const stamps = 'select _user_id, job_id, _change_id, _changed_at from mirror.research_jobs order by 1, 2';
    const before = await account.query(stamps);
    expect(await run('columns', 'accept', 'research_jobs.colour')).toMatchObject({
      code: 0,
      stdout: '"colour" is now research_jobs.colour, text\n',
      stderr: expect.stringContaining('the daemon fills rows and history from _raw while it runs') as string,
    });
    expect((await waiting()).map(({ affects }) => affects)).toContainEqual(['research_jobs ("A size")']);
    await account.page('research_jobs', '[{"job_id":3,"status":"new","colour":"green","A size":2}]');
    while (await account.mirror.backfill(account.fence));
    const colours = 'select job_id, colour from mirror.research_jobs_live where _user_id = 43 order by 1';
    expect(await lines(account, colours)).toEqual(['1 red', '2 blue', '3 green']);
    const old = 'select job_id, colour from mirror.research_jobs_history';
    expect(await lines(account, old)).toEqual(['2 red']);
    expect((await account.query(stamps)).filter((row) => (row as { job_id: string }).job_id !== '3')).toEqual(before);
  });

  it('accepts all of a table: the problem is over, and to accept again changes nothing', async () => {
    expect((await run('columns', 'accept', 'research_jobs')).stdout).toBe(
      '"A size" is now research_jobs.a_size, numeric\n',
    );
    expect((await run('columns', 'accept', 'lists.note.text')).stdout).toBe(
      '"note.text" is now lists.note_text, text\n',
    );
    expect(await waiting()).toEqual([]);
    expect(await run('columns', 'accept', 'lists')).toMatchObject({
      code: 0,
      stdout: 'no field of lists waits for a column\n',
    });
    expect(await run('columns', 'accept', 'lists.color')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('"color" of lists does not wait for a column') as string,
    });
    const log = `select act, arguments::text from mirror.operator_log order by act_id`;
    expect(await lines(account, log)).toEqual([
      `columns accept {"table": "research_jobs", "columns": ["colour"]}`,
      `columns accept {"table": "research_jobs", "columns": ["a_size"]}`,
      `columns accept {"table": "lists", "columns": ["note_text"]}`,
    ]);
  });

  it('changes no type, as no setting does: what does not fit is null, whole in _raw, and counted', async () => {
    await account.page('research_jobs', '[{"job_id":4,"A size":"large"}]');
    const size = `select a_size, _raw ->> 'A size' from mirror.research_jobs where job_id = 4`;
    expect(await lines(account, size)).toEqual(['- large']);
    expect(await lines(account, `select conflicts from mirror.columns where field = 'A size'`)).toEqual(['1']);
    expect(await waiting()).toEqual([]);
  });

  wrongUsage('columns', [
    ['no table to accept', ['accept'], 'columns accept needs a table'],
    ['an unknown table to accept', ['accept', 'list'], '(did you mean lists?)'],
    ['a type to accept', ['accept', 'lists.a', 'text'], 'columns accept needs a table'],
  ]);
});
