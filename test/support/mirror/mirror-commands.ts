import { sql } from 'kysely';
import { afterAll, beforeAll } from 'vitest';
import { createMigratedDatabase, type MigratedDatabase } from '../databases/migrated-database.ts';
import { makeFolder, runProgram, type Outcome } from '../processes/program.ts';

/** The program's commands on a mirror of account 42, without a daemon. */
export interface MirrorCommands {
  /** The working directory: no .env is in it. */
  readonly cwd: string;
  readonly database: MigratedDatabase;
  readonly run: (...args: string[]) => Promise<Outcome>;
  /** Runs SQL. */
  readonly execute: (text: string) => Promise<unknown>;
}

/** For all tests of a file. */
export function mirrorCommands(): MirrorCommands {
  const folder = makeFolder();
  let database: MigratedDatabase;
  const execute = (text: string): Promise<unknown> => sql.raw(text).execute(database.kysely);
  beforeAll(async () => {
    database = await createMigratedDatabase();
    await execute(`insert into mirror_sync.account (_user_id, created_at) values (42, now())`);
  });
  afterAll(async () => {
    await database.drop();
    folder.remove();
  });
  return {
    cwd: folder.path,
    get database() {
      return database;
    },
    run: (...args) => runProgram(args, { cwd: folder.path, env: { DATABASE_URL: database.url } }),
    execute,
  };
}
