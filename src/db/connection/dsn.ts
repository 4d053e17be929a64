import { userInfo } from 'node:os';
import { parse } from 'pg-connection-string';
import { Unusable } from '@research-mirror/runtime/errors';
import { TLS_PARAMETERS, type TlsParameters, variableOf } from '../../model/database/tls-parameters.ts';

/** A connection string and libpq's environment, resolved: the driver reads no variable itself. */
export interface Dsn {
  /** Name, address, or the folder of a socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly applicationName: string | undefined;
  /** Milliseconds; undefined: not given. */
  readonly connectTimeout: number | undefined;
  /** What the server's session begins with: `-c work_mem=64MB`. */
  readonly options: string | undefined;
  readonly tls: TlsParameters;
}

/** `PG*` variables by name. */
export type PgVariables = Readonly<Record<string, string | undefined>>;

/**
 * Reads a `postgres://` URL as libpq does: the variables fill what it leaves out. A host that begins with a slash is
 * a socket's folder, which has no TLS.
 * @throws Unusable; the message has no URL, which may contain a password
 */
export function readDsn(url: string, variables: PgVariables): Dsn {
  const [base, query] = splitOnce(url, '?');
  const parameters = new URLSearchParams(query);
  // Of several, libpq takes the last one.
  const tls = Object.fromEntries(
    TLS_PARAMETERS.map((name) => [name, parameters.getAll(name).at(-1) ?? variables[variableOf(name)]]),
  );
  // The driver would read them in another way than libpq.
  for (const name of TLS_PARAMETERS) parameters.delete(name);
  const rest = parameters.toString();
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(rest === '' ? base : `${base}?${rest.replaceAll('+', '%20')}`);
  } catch {
    throw new Unusable('DATABASE_URL can’t be read as a URL: postgres://user:password@host:5432/database');
  }
  const given = (value: string | null | undefined, variable: string): string | undefined =>
    present(value) ?? present(variables[variable]);
  const host = given(parsed.host, 'PGHOST') ?? 'localhost';
  const timeout = Number(given(parameters.get('connect_timeout'), 'PGCONNECT_TIMEOUT') ?? 0);
  return {
    host,
    port: Number(given(parsed.port, 'PGPORT') ?? 5432),
    user: given(parsed.user, 'PGUSER'),
    password: given(parsed.password, 'PGPASSWORD'),
    database: given(parsed.database ?? parameters.get('dbname'), 'PGDATABASE'),
    applicationName: given(parameters.get('application_name'), 'PGAPPNAME'),
    connectTimeout: timeout > 0 ? Math.max(2, timeout) * 1_000 : undefined,
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

function present(value: string | null | undefined): string | undefined {
  return value === null || value === undefined || value === '' ? undefined : value;
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
