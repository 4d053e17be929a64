import { sql } from 'kysely';
import { type MigratedDatabase, openTestDatabase } from '../databases/migrated-database.ts';
import { createReaderLogin } from './reader-login.ts';

export type LoginRole = Awaited<ReturnType<typeof createLoginRole>>;

/** A login with the rights of the groups and no others. */
export async function createLoginRole(database: MigratedDatabase, groups: readonly string[]) {
  const login = await createReaderLogin(database.url, groups);
  const opened = await openTestDatabase(login.url, { max: 20 });
  return {
    ...opened,
    name: login.name,
    /** Runs one statement. */
    run: async (text: string) => (await opened.db.sql<Record<string, unknown>>`${sql.raw(text)}`).rows,
    drop: async (): Promise<void> => {
      await opened.close();
      await login.drop();
    },
  };
}
