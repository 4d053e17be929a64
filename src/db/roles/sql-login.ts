import { openDatabase } from '../connection/database.ts';
import type { Db } from '../connection/db.ts';
import { sql } from 'kysely';
import { onConnection } from '../connection/pool.ts';
import { quotedText } from '../connection/quoted.ts';
import { makeRoles } from './roles.ts';

/** The login of the command `sql`, which the program or a DBA makes. */
export function sqlLogin(schema: string): string {
  return `${schema}_sql`;
}

/** The login's connections at most, and after how long a statement ends by default. */
const LOGIN_CONNECTIONS = 20;
const LOGIN_TIMEOUT = '60s';

/**
 * Makes the login of `sql`: a member of `<schema>_reader` that can become no other role (from PostgreSQL 16 on). It could change its settings
 * (read-only, a time limit), but not its rights.
 * @param db of a superuser
 */
async function makeSqlLogin(db: Db, password: string): Promise<void> {
  const login = sql.id(sqlLogin(db.schema));
  await db.transaction(async (trx) => {
    // Two commands may begin together. Only a superuser can take this lock, as anybody could an advisory one.
    await trx.sql`lock table pg_authid in share row exclusive mode`;
    await makeRoles(trx);
    const { rows } = await trx.sql`select 1 from pg_roles where rolname = ${sqlLogin(trx.schema)}`;
    if (rows.length === 0) await trx.sql`create role ${login}`;
    await trx.sql`alter role ${login} login nosuperuser nocreatedb nocreaterole noreplication
      connection limit ${sql.raw(String(LOGIN_CONNECTIONS))} password ${sql.raw(quotedText(password))}`;
    await trx.sql`alter role ${login} set default_transaction_read_only = on`;
    await trx.sql`alter role ${login} set statement_timeout = ${sql.raw(quotedText(LOGIN_TIMEOUT))}`;
    const { rows: servers } = await trx.sql<{ major: number }>`
      select current_setting('server_version_num')::int / 10000 as major`;
    // PostgreSQL 15 knows no such options: there the login could become the group, which may only read, too.
    const options = (servers[0]?.major ?? 0) >= 16 ? sql` with inherit true, set false` : sql``;
    await trx.sql`grant ${sql.id(`${trx.schema}_reader`)} to ${login}${options}`;
  });
}

/** Statements for psql that a DBA runs once where the program does not make the login; they lack the password. */
export function sqlLoginByHand(schema: string): string {
  return (
    `create role ${sqlLogin(schema)} login password '…' connection limit ${LOGIN_CONNECTIONS} in role ${schema}_reader; ` +
    `alter role ${sqlLogin(schema)} set default_transaction_read_only = on;`
  );
}

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
  const query = `select pg_has_role(oid, 'usage') as reader from pg_roles where rolname = $1`;
  try {
    const { rows } = await onConnection({ connectionString: url, ssl: false }, (client) =>
      client.query<{ reader: boolean | null }>(query, [`${schema}_reader`]),
    );
    return rows[0]?.reader === true;
  } catch {
    // The caller makes it again, and that fails with whatever is wrong.
    return false;
  }
}
