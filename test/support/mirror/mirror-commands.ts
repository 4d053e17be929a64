import { sql } from 'kysely';
import { afterAll, beforeAll } from 'vitest';
import { testDatabase } from '../databases/migrated-database.ts';
import { makeFolder, runProgram } from '../processes/program.ts';

/** For all tests of a file: the program's commands on a mirror of account 42, without a daemon. */
export function mirrorCommands() {
  const folder = makeFolder();
  const database = testDatabase();
  const execute = (text: string): Promise<unknown> => sql.raw(text).execute(database.kysely);
  beforeAll(() => execute(`insert into mirror_sync.account (_user_id, created_at) values (42, now())`));
  afterAll(() => folder.remove());
  return {
    /** The working directory: no .env is in it. */
    cwd: folder.path,
    database,
    run: (...args: string[]) => runProgram(args, { cwd: folder.path, env: { DATABASE_URL: database.url } }),
    /** Runs SQL. */
    execute,
  };
}
