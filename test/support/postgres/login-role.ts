import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../../../src/db/connection/database.ts';
import type { MigratedDatabase } from '../databases/migrated-database.ts';
import { openTestDatabase } from '../databases/migrated-database.ts';

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
  const name = `test_${randomBytes(6).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  await database.db.sql`create role ${sql.id(name)} login password ${sql.lit(password)}`;
  for (const group of groups) {
    await database.db.sql`grant ${sql.id(group)} to ${sql.id(name)}`;
  }
  const url = new URL(database.url);
  url.username = name;
  url.password = password;
  const opened = await openTestDatabase(url.href, { max: SESSIONS });
  return {
    ...opened,
    name,
    run: async (text) => (await opened.db.sql<Record<string, unknown>>`${sql.raw(text)}`).rows,
    drop: async () => {
      await opened.close();
      await database.db.sql`drop owned by ${sql.id(name)}; drop role ${sql.id(name)}`;
    },
  };
}
