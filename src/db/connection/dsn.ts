import { userInfo } from 'node:os';
import { parse } from 'pg-connection-string';
import { Unusable } from '@research-mirror/runtime/errors';
import { TLS_PARAMETERS, type TlsParameters, variableOf } from '../../model/database/tls-parameters.ts';

/** `PG*` variables by name. */
export type PgVariables = Readonly<Record<string, string | undefined>>;

/**
 * Reads a `postgres://` URL as libpq does: the variables fill what it leaves out, and the driver reads none itself. A
 * host that begins with a slash is a socket's folder, which has no TLS. `options` begin the server's session.
 * @throws Unusable; the message has no URL, which may contain a password
 */
export function readDsn(url: string, variables: PgVariables) {
  const [base = '', query] = url.split(/\?(.*)/s);
  const parameters = new URLSearchParams(query);
  // Of several, libpq takes the last one.
  const tls: TlsParameters = Object.fromEntries(
    TLS_PARAMETERS.map((name) => [name, parameters.getAll(name).at(-1) ?? variables[variableOf(name)]]),
  );
  // The driver would read them in another way than libpq.
  for (const name of TLS_PARAMETERS) parameters.delete(name);
  const rest = parameters.toString().replaceAll('+', '%20');
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(`${base}?${rest}`);
  } catch {
    throw new Unusable('DATABASE_URL can’t be read as a URL: postgres://user:password@host:5432/database');
  }
  const given = (value: string | null | undefined, variable: string): string | undefined =>
    [value, variables[variable]].find((text) => typeof text === 'string' && text !== '') ?? undefined;
  const host = given(parsed.host, 'PGHOST') ?? 'localhost';
  const timeout = Number(given(parameters.get('connect_timeout'), 'PGCONNECT_TIMEOUT') ?? 0);
  return {
    host,
    port: Number(given(parsed.port, 'PGPORT') ?? 5432),
    user: given(parsed.user, 'PGUSER'),
    password: given(parsed.password, 'PGPASSWORD'),
    database: given(parsed.database ?? parameters.get('dbname'), 'PGDATABASE'),
    application_name: given(parameters.get('application_name'), 'PGAPPNAME'),
    connectionTimeoutMillis: timeout > 0 ? Math.max(2, timeout) * 1_000 : undefined,
    options: given(parameters.get('options'), 'PGOPTIONS'),
    tls: host.startsWith('/') ? { sslmode: 'disable' } : tls,
  };
}

/**
 * The user that libpq takes where none is given.
 * @param name reads the name of this process's user; fails for a user ID without one, as in containers
 * @throws Unusable
 */
export function systemUser(name: () => string = () => userInfo().username): string {
  try {
    return name();
  } catch {
    throw new Unusable(
      `the database's user is not known, since user ID ${process.getuid?.() ?? ''} has no name on this machine: ` +
        'put the user into DATABASE_URL, or set PGUSER',
    );
  }
}
