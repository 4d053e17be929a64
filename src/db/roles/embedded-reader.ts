import pg from 'pg';
import { openDatabase } from '../connection/database.ts';
import { makeSqlLogin, sqlLogin } from './sql-login.ts';

/**
 * URL of a login that only reads the mirror in `schema`, made on first use.
 * @param url of the superuser
 * @param password that the login has, or gets
 */
export async function readerUrl(
  url: string,
  password: string,
  schema: string,
  program: string,
): Promise<string> {
  const reader = new URL(url);
  reader.username = sqlLogin(schema);
  reader.password = password;
  if (await isReader(reader.href, schema)) return reader.href;
  const database = await openDatabase({ url, schema, program, max: 1 });
  try {
    await makeSqlLogin(database.db, password);
  } finally {
    await database.close();
  }
  return reader.href;
}

/** Whether the login is there, takes the password, and may read. */
async function isReader(url: string, schema: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, ssl: false });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ reader: boolean | null }>(
      `select pg_has_role(oid, 'usage') as reader from pg_roles where rolname = $1`,
      [`${schema}_reader`],
    );
    return rows[0]?.reader === true;
  } catch {
    // Made anew: whatever was wrong is told by that.
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
