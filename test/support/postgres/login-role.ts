import { sql } from 'kysely';
import type { Database } from '../../../src/db/connection/database.ts';
import type { MigratedDatabase } from '../databases/migrated-database.ts';
import { openTestDatabase } from '../databases/migrated-database.ts';
import { createReaderLogin } from './reader-login.ts';

/** Somebody who logs in, with the rights of the groups and no other. */
export interface LoginRole extends Database {
  readonly name: string;
  /** Runs one statement. */
  run(text: string): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
}

/** Connections at most: sessions of one user that do something together. */
const SESSIONS = 20;

export async function createLoginRole(
  database: MigratedDatabase,
  groups: readonly string[],
): Promise<LoginRole> {
  const login = await createReaderLogin(database.url, groups);
  const opened = await openTestDatabase(login.url, { max: SESSIONS });
  return {
    ...opened,
    name: login.name,
    run: async (text) => (await opened.db.sql<Record<string, unknown>>`${sql.raw(text)}`).rows,
    drop: async () => {
      await opened.close();
      await login.drop();
    },
  };
}
