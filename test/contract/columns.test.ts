import { beforeAll, describe, expect, it } from 'vitest';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';
import { mirrorCommands } from '../support/mirror/mirror-commands.ts';

const mirror = mirrorCommands();
const { run, wrongUsage } = mirror;
let account: MirroredAccount;

beforeAll(async () => {
  account = await MirroredAccount.make(mirror.database, '43');
  await account.page('research_jobs', '[{"job_id":1,"score":1.50,"part_id":1,"owner":"a"}]');
  await account.page(
    'research_jobs',
    `[{"job_id":1,"score":"low","part_id":1,"owner":"a"},{"job_id":2,"score":"\\u001bhigh","part_id":2.5}]`,
  );
});

/** Every column of the mirror, with its type; `relnatts` counts those that were dropped, too. */
const shape = () =>
  account.query(`
    select c.relname, c.relnatts, c.relfilenode::text, a.attname, a.atttypid::regtype::text as type
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'mirror'::regnamespace order by 1, 4`);

describe('columns', () => {
  it('shows types, what did not fit, and what would take it', async () => {
    const { code, stdout } = await run('columns');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^research_jobs\.score +numeric +score +\d{4}-\d\d-\d\d +2 +"\\u001bhigh" +jsonb would fit all 3$/m,
    );
    expect(stdout).toMatch(/^research_jobs\.part_id +bigint .* 2\.5 +numeric would fit all 3$/m);
    expect(stdout).toContain('"columns set-type research_jobs.part_id numeric --dry-run" tries it\n');
    const json = await run('columns', 'list', '--json');
    const { columns } = JSON.parse(json.stdout) as { columns: { field: string }[] };
    expect(columns.find(({ field }) => field === 'part_id')).toEqual({
      table: 'research_jobs',
      column: 'part_id',
      field: 'part_id',
      type: 'bigint',
      documented: false,
      firstSeenAt: expect.any(String) as string,
      conflicts: 1,
      example: '2.5',
      suggestion: { type: 'numeric', values: 3 },
    });
  });

  it('tries a type, and says with 1 that some values would not fit: nothing is changed', async () => {
    const before = await shape();
    expect(await run('columns', 'set-type', 'research_jobs.score', 'text', '--dry-run')).toEqual({
      code: 1,
      signal: null,
      stdout:
        'research_jobs.score as text: of 3 values, history included, 1 would not fit: NULL in the column, whole in _raw\n' +
        'the column would lose 1 value that it has now, for example:\n' +
        '  research_jobs 1 of account 43: 1.50\n',
      stderr: '',
    });
    expect(await run('columns', 'set-type', 'research_jobs.score', 'jsonb', '--dry-run')).toMatchObject({
      code: 0,
      stdout:
        'research_jobs.score as jsonb: of 3 values, history included, 0 would not fit: NULL in the column, whole in _raw\n' +
        'the column would lose 0 values that it has now\n',
    });
    expect(await shape()).toEqual(before);
  });

  it('says what would be lost and asks for --yes where nobody can be asked: nothing is changed', async () => {
    const before = await shape();
    expect(await run('columns', 'set-type', 'research_jobs.score', 'boolean')).toEqual({
      code: 2,
      signal: null,
      stdout: '',
      stderr: expect.stringMatching(
        /the column would lose 1 value that it has now, for example:\n {2}research_jobs 1 .*: 1\.50\nresearch-mirror: can't ask for confirmation without a terminal\. Add --yes .*\n$/,
      ) as string,
    });
    expect(await shape()).toEqual(before);
  });

  it('gives a column another type with --yes, having said what would not fit', async () => {
    expect(await run('columns', 'set-type', 'research_jobs.part_id', 'numeric', '--yes')).toMatchObject({
      code: 0,
      stdout: 'research_jobs.part_id is now numeric\n',
      stderr: expect.stringContaining('of 3 values, history included, 0 would not fit') as string,
    });
    expect(
      await account.query(
        'select part_id, pg_typeof(part_id)::text as type from mirror.research_jobs_live order by job_id',
      ),
    ).toEqual([
      { part_id: '1', type: 'numeric' },
      { part_id: '2.5', type: 'numeric' },
    ]);
    expect(
      await account.query('select distinct pg_typeof(part_id)::text as type from mirror.research_jobs_versions'),
    ).toEqual([{ type: 'numeric' }]);
  });

  it('names what depends on the column, and changes nothing', async () => {
    await mirror.execute('create view mirror.mine as select owner from mirror.research_jobs');
    const before = await shape();
    expect(await run('columns', 'set-type', 'research_jobs.owner', 'jsonb', '--yes')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^research-mirror: columns set-type: the type of research_jobs\.owner can't change while these depend on it: view mirror\.mine\. Save /,
      ) as string,
    });
    expect(await shape()).toEqual(before);
  });

  wrongUsage('columns', [
    ['an action there is not', ['set-tpye'], '(did you mean set-type?)'],
    ['a name for list', ['list', 'lists.a'], 'columns list takes no name'],
    ['--dry-run for list', ['--dry-run'], 'columns list has no option --dry-run'],
    ['--json for set-type', ['set-type', 'lists.a', 'text', '--json'], 'has no option --json'],
    ['no type', ['set-type', 'lists.a'], 'needs a column and a type'],
    ['no column', ['set-type', 'lists', 'text'], 'needs a column and a type'],
    ['an unknown table', ['set-type', 'list.a', 'text'], '(did you mean lists?)'],
    ['an unknown column', ['set-type', 'research_jobs.scor', 'text'], '"research-mirror columns" lists'],
    // Why a column can't have a type: test/integration/mirror/columns/set-type.test.ts.
    ['a type there is not', ['set-type', 'research_jobs.score', 'nummeric'], `can't have type "nummeric". Use one of`],
  ]);
});
