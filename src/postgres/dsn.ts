import { Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { existsSync, readFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { parse } from 'pg-connection-string';
import { SSL_MODES, TLS_PARAMETERS, type TlsParameters, variableOf } from '../config/urls.ts';

/** `PG*` variables by name. */
export type PgVariables = Readonly<Record<string, string | undefined>>;

/**
 * Reads a `postgres://` URL as libpq does. The variables fill what it leaves out; the driver reads none itself. A host
 * that begins with a slash is a socket's folder, without TLS.
 * @throws Unusable: the message has no URL, since that may contain a password
 */
export function readDsn(url: string, variables: PgVariables) {
  const [base = '', query] = url.split(/\?(.*)/s);
  const parameters = new URLSearchParams(query);
  // libpq takes the last of several values.
  const tls: TlsParameters = Object.fromEntries(
    TLS_PARAMETERS.map((name) => [name, parameters.getAll(name).at(-1) ?? variables[variableOf(name)]]),
  );
  // The driver would read them otherwise.
  for (const name of TLS_PARAMETERS) parameters.delete(name);
  const rest = parameters.toString().replaceAll('+', '%20');
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(`${base}?${rest}`);
  } catch {
    throw new Unusable('DATABASE_URL is not a valid URL. Write it as postgres://user:password@host:5432/database');
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

/** libpq's default user: this process's. @throws Unusable for a user ID without a name, as in containers */
export function systemUser(name: () => string = () => userInfo().username): string {
  try {
    return name();
  } catch {
    throw new Unusable(
      `the database's user is unknown: user ID ${process.getuid?.() ?? ''} has no name on this machine. ` +
        'Put the user into DATABASE_URL, or set PGUSER',
    );
  }
}

/** Modes that may result in a connection in plain text. */
const PLAIN_TEXT_MODES = new Set(['disable', 'allow', 'prefer']);

export type Tls = false | ConnectionOptions;

/**
 * libpq's meaning of `sslmode` (its manual, "SSL Support"), which differs from the driver's:
 * - disable, allow (plain text first), prefer (TLS first; the default): no protection against interception
 * - require: TLS without a check; with a root certificate, given or in `~/.postgresql/root.crt`, like verify-ca
 * - verify-ca checks the authority, verify-full the host's name as well. `sslrootcert=system`: the authorities of Node.
 *   verify-full uses those without a root certificate (NODE_EXTRA_CA_CERTS adds some), where libpq refuses.
 * @returns what to try first, and after a refusal; false: plain text
 * @throws Unusable: a file can't be read, or libpq does not know a value
 */
export function tlsWays(parameters: TlsParameters): readonly [first: Tls, otherwise?: Tls] {
  const { sslrootcert, sslmode = sslrootcert === 'system' ? 'verify-full' : 'prefer' } = parameters;
  const mode = oneOf(SSL_MODES, 'sslmode', sslmode);
  if (isDirect(parameters) && PLAIN_TEXT_MODES.has(mode)) {
    throw new Unusable('sslnegotiation=direct in DATABASE_URL needs sslmode=require, verify-ca or verify-full');
  }
  if (mode === 'disable') return [false];
  const versionOf = (name: 'ssl_min_protocol_version' | 'ssl_max_protocol_version') =>
    parameters[name] ? oneOf(['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'], name, parameters[name]) : undefined;
  const identity = {
    cert: contentOf('sslcert', parameters),
    key: contentOf('sslkey', parameters),
    passphrase: parameters.sslpassword,
    // The lowest version is TLS 1.2, for libpq and for Node.
    minVersion: versionOf('ssl_min_protocol_version'),
    maxVersion: versionOf('ssl_max_protocol_version'),
  };
  const unchecked = { ...identity, rejectUnauthorized: false };
  if (mode === 'allow') return [false, unchecked];
  if (mode === 'prefer') return [unchecked, false];
  if (mode === 'no-verify') return [unchecked];
  const root = { sslrootcert: sslrootcert ?? ownRoot() };
  const ca = sslrootcert === 'system' ? undefined : contentOf('sslrootcert', root);
  const checked = { ...identity, ca, crl: contentOf('sslcrl', parameters) };
  if (mode === 'verify-full') return [checked];
  // Checks the chain but not the name.
  if (ca !== undefined) return [{ ...checked, checkServerIdentity: () => undefined }];
  if (mode === 'require') return [unchecked];
  throw new Unusable('sslmode=verify-ca in DATABASE_URL needs sslrootcert, the file of the authority’s certificate');
}

/** Whether TLS begins without a request in plain text. */
export function isDirect({ sslnegotiation = 'postgres' }: TlsParameters): boolean {
  return oneOf(['postgres', 'direct'], 'sslnegotiation', sslnegotiation) === 'direct';
}

function oneOf<const T extends string>(known: readonly T[], name: string, value: string): T {
  const found = known.find((each) => each === value);
  if (found !== undefined) return found;
  const given = JSON.stringify(value.slice(0, 40));
  throw new Unusable(`${name} (DATABASE_URL, PG…) can’t be ${given}. Use one of ${known.join(', ')}`);
}

/** The user's root certificate for all servers. A user with neither HOME nor a name has none. */
function ownRoot(): string | undefined {
  try {
    const file = join(homedir(), '.postgresql', 'root.crt');
    return existsSync(file) ? file : undefined;
  } catch {
    return undefined;
  }
}

function contentOf(name: keyof TlsParameters, { [name]: file }: TlsParameters): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Unusable(`the file of ${name} in DATABASE_URL can't be read: ${messageOf(error)}`);
  }
}
