import pg from 'pg';
import { openDatabase } from '../connection/database.ts';
import { makeSqlLogin, sqlLogin } from './sql-login.ts';

/**
 * The URL of a login that only reads the mirror in `schema`; makes the login on first use.
 * @param url of the superuser
 * @param password of the login
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

/** Whether the login exists, with this password, and may read. */
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
    // The caller makes it again, and that fails with whatever is wrong.
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
