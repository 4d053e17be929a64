import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRecipeShell, type RecipeShell } from '../../support/processes/recipe-shell.ts';
import { codeRecipes, shellRecipes } from '../../support/rules/recipes.ts';
import { ROOT } from '../../support/rules/source-files.ts';

const HEADING = 'Types for a program in TypeScript';
const [generate = '', verify = ''] = await shellRecipes(HEADING);
const [program = ''] = await codeRecipes(HEADING, 'ts');
const COMPILE =
  'npx tsc --ignoreConfig --noEmit --strict --noUncheckedIndexedAccess --target esnext --module nodenext ' +
  '--allowImportingTsExtensions --types node jobs.mts';

let shell: RecipeShell;
beforeAll(async () => {
  shell = await openRecipeShell(`
    insert into mirror.research_jobs (_user_id, job_id, status, _raw, _hash, _change_id, _first_seen_at, _changed_at)
      values (1, 9007199254740993, 'completed', '{}', '', 7, now(), '2026-01-02Z')`);
  // What a user installs.
  symlinkSync(join(ROOT, 'node_modules'), shell.path('node_modules'));
});
afterAll(() => shell.close());

/** Type-checks a program. @returns what is wrong */
async function compile(text: string): Promise<string> {
  writeFileSync(shell.path('jobs.mts'), text);
  const { code, stdout } = await shell.run(COMPILE);
  expect(code === 0).toBe(stdout === '');
  return stdout;
}

describe('types for a program in TypeScript', () => {
  it('are made by a login that can only read; the program that uses them compiles and runs', async () => {
    expect(await shell.run(generate)).toMatchObject({ code: 0, stderr: '' });
    expect(await compile(program)).toBe('');
    expect(await shell.run(`'${process.execPath}' jobs.mts`)).toMatchObject({
      code: 0,
      stdout: '9007199254740993 2026-01-02T00:00:00.000Z\n',
    });
  });

  it('refuse a column that there is not, a value of another type, and an ID that is taken for a number', async () => {
    for (const [right, wrong] of [
      ["'status', '_changed_at'", "'state', '_changed_at'"],
      ["'=', 'completed'", "'=', 5"],
      ['console.log(job_id', 'console.log(job_id * 2'],
    ] as const) {
      expect(program).toContain(right);
      expect(await compile(program.replace(right, wrong))).toContain('error TS');
    }
  });

  it('are verified: a further column is told', async () => {
    expect(await shell.run(verify)).toMatchObject({ code: 0 });
    await shell.superuser.query('alter table mirror.research_jobs add column later text');
    expect(await shell.run(verify)).toMatchObject({ code: 1 });
  });
});
