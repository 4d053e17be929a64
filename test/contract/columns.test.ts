import { beforeAll, describe, expect, it } from 'vitest';
import { MirroredAccount } from '../support/mirror/mirrored-account.ts';
import { mirrorCommands } from '../support/mirror/mirror-commands.ts';

const mirror = mirrorCommands();
const { run } = mirror;
let account: MirroredAccount;

beforeAll(async () => {
  account = await MirroredAccount.make(mirror.database, '43');
  await account.page('research_jobs', '[{"job_id":1,"score":1.50,"part_id":1,"owner":"a"}]');
  await account.page(
    'research_jobs',
    `[{"job_id":1,"score":"low","part_id":1,"owner":"a"},{"job_id":2,"score":"\\u001bhigh","part_id":2.5}]`,
  );
});

describe('columns', () => {
  it('shows types, what did not fit, and what would take it', async () => {
    const { code, stdout } = await run('columns');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^research_jobs\.score +numeric +score +\d{4}-\d\d-\d\d +2 +"\\u001bhigh" +jsonb would take all 3$/m,
    );
    expect(stdout).toMatch(/^research_jobs\.part_id +bigint .* 2\.5 +numeric would take all 3$/m);
    expect(stdout).toContain('"columns retype research_jobs.part_id numeric --dry-run" tries it\n');
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
    const tried = await run('columns', 'retype', 'research_jobs.score', 'text', '--dry-run');
    expect(tried.code).toBe(1);
    expect(tried.stdout).toBe(
      'research_jobs.score from numeric to text; nothing was changed\n' +
        'rows: 2 values, 2 would fit, 0 would be NULL\n' +
        'versions in history: 1 value, 0 would fit, 1 would be NULL\n' +
        'would not fit, for example:\n  research_jobs 1 of account 43: 1.50\n',
    );
    const good = await run('columns', 'retype', 'research_jobs.score', 'jsonb', '--dry-run', '--json');
    expect(good.code).toBe(0);
    expect(JSON.parse(good.stdout)).toEqual({
      columns: [
        {
          table: 'research_jobs',
          column: 'score',
          field: 'score',
          from: 'numeric',
          to: 'jsonb',
          dryRun: true,
          tried: { rows: { values: 2, unfit: 0 }, versions: { values: 1, unfit: 0 }, examples: [] },
          done: null,
        },
      ],
    });
    expect(await account.query('select score from mirror.research_jobs where score is not null')).toEqual([]);
  });

  it('gives a column another type, and says what came of it', async () => {
    const made = await run('columns', 'retype', 'research_jobs.part_id', 'numeric');
    expect(made).toMatchObject({
      code: 0,
      stdout:
        'research_jobs.part_id is numeric now (it was bigint): 3 rows and versions read again, every value fits\n',
    });
    expect(await account.query('select part_id from mirror.research_jobs order by job_id')).toEqual([
      { part_id: '1' },
      { part_id: '2.5' },
    ]);
  });

  it.each([
    ['an action there is not', ['retpye'], '(did you mean retype?)'],
    ['a name for list', ['list', 'lists.a'], 'columns list takes no name'],
    ['--dry-run for list', ['--dry-run'], 'columns list has no option --dry-run'],
    ['no type', ['retype', 'lists.a'], 'which column, and to which type?'],
    ['no column', ['retype', 'lists', 'text'], 'which column of lists?'],
    ['an unknown table', ['retype', 'list.a', 'text'], '(did you mean lists?)'],
    ['an unknown column', ['retype', 'research_jobs.scor', 'text'], '(did you mean research_jobs.score?)'],
    ['a type there is not', ['retype', 'research_jobs.score', 'nummeric'], '(did you mean numeric?)'],
    ['the same type', ['retype', 'research_jobs.owner', 'text'], 'research_jobs.owner is text already'],
    ['a column of the key', ['retype', 'research_jobs.job_id', 'text'], 'is of the key'],
    ['one of ours', ['retype', 'research_jobs._raw', 'text'], "is the mirror's own"],
    ['a documented one', ['retype', 'account.credits', 'text'], "named in the service's specification"],
  ])('%s is wrong usage', async (_, args, message) => {
    expect(await run('columns', ...args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message) as string,
    });
  });
});
