import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testDatabase } from '../databases/migrated-database.ts';
import { makeFolder, runProgram } from '../processes/program.ts';

/** For all tests of a file: the program's commands on a mirror of account 42, without a daemon. */
export function mirrorCommands() {
  const folder = makeFolder();
  const database = testDatabase();
  const execute = async <Row>(text: string): Promise<Row[]> => (await sql.raw<Row>(text).execute(database.kysely)).rows;
  const run = (...args: readonly string[]) =>
    runProgram(args, { cwd: folder.path, env: { DATABASE_URL: database.url } });
  beforeAll(() => execute(`insert into mirror_sync.account (_user_id, created_at) values (42, now())`));
  afterAll(() => folder.remove());
  return {
    /** The working directory: no .env is in it. */
    cwd: folder.path,
    database,
    run,
    /** Runs SQL. @returns its rows */
    execute,
    /** A test for each: what it is, the arguments, and why they are wrong. */
    wrongUsage: (command: string, cases: readonly (readonly [string, readonly string[], string])[]) =>
      it.each(cases)('%s is wrong usage', async (_, args, why) => {
        const stderr = expect.stringContaining(why) as string;
        expect(await run(command, ...args)).toMatchObject({ code: 2, stdout: '', stderr });
      }),
  };
}
