import { InvalidValue, suggestion } from './parse-values.ts';
import { Secret } from './secret.ts';

/** @returns `{base_url}` without trailing slash and `/v1`; `http://` only for loopback, as requests have the API key */
export function parseServiceUrl(text: string): string {
  const url = parseWebUrl(text);
  const isLoopback = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(url.hostname);
  if (url.protocol === 'http:' && !isLoopback) {
    throw new InvalidValue(
      'http:// would show the API key to everybody on the way: use https:// (http:// is for loopback)',
    );
  }
  return withoutTrailingSlash(url).replace(/\/v1$/, '').replace(/\/+$/, '');
}

export function parsePublicUrl(text: string): string {
  return withoutTrailingSlash(parseWebUrl(text));
}

/** No message quotes the URL: path and query of a chat's webhook are its password. */
export function parseNotifyUrl(text: string): Secret {
  const url = URL.parse(text);
  if (url === null || !/^https?:\/\//i.test(text)) throw new InvalidValue('is no URL: it begins with https://');
  if (`${url.username}${url.password}` !== '') throw new InvalidValue('must not contain a user or password');
  return new Secret(text);
}

/** No message quotes the URL, which may contain a password. */
export function parseDatabaseUrl(text: string): Secret {
  if (!/^postgres(ql)?:\/\//.test(text)) {
    throw new InvalidValue('is no connection URL of Postgres: postgres://user:password@host:5432/database');
  }
  // libpq allows an empty host after a user (a socket, or PGHOST); URL does not.
  const url = URL.parse(text.replace(/^(postgres(?:ql)?:\/\/[^/?#@]*@)(?=[/?]|$)/, '$1localhost'));
  if (url === null) {
    throw new InvalidValue(
      "can't be read as a URL: one host, a port up to 65535, and special characters in user and password percent-encoded (@ is %40, # is %23, / is %2F)",
    );
  }
  for (const [name, value] of url.searchParams) {
    const problem = unkept(name, value) ?? unknownSsl(name, value);
    if (problem !== undefined) throw new InvalidValue(problem);
  }
  return new Secret(text);
}

/** An ignored `sslmod=require` would leave the connection unprotected. */
function unknownSsl(name: string, value: string): string | undefined {
  const known: readonly string[] = TLS_PARAMETERS;
  if (name === 'sslmode' && !SSL_MODES.includes(value)) {
    return `sslmode ${JSON.stringify(value)} is none of ${SSL_MODES.slice(0, 6).join(', ')}`;
  }
  if (!name.startsWith('ssl') || known.includes(name) || name in UNKEPT) return undefined;
  return `has ${name}${suggestion(name, known)}, but of ssl… only ${known.join(', ')} are known`;
}

const VERIFY = 'leave it out, and use sslmode=verify-full, which shuts out a server in between, too';
const DIRECTLY = 'leave it out, and give the values themselves';

/**
 * Parameters of libpq that the driver can’t obey, by name in a URL (libpq's manual, "Parameter Key Words"): the remedy,
 * and values that are harmless. All others are obeyed (src/postgres/dsn.ts) or don't decide who can read along, whom we
 * talk to and as whom: keepalives, encodings, libraries, and target_session_attrs, as the daemon checks itself whether
 * it can write.
 */
const UNKEPT: Readonly<Record<string, readonly [remedy: string, harmless?: RegExp]>> = {
  channel_binding: [VERIFY, /^(prefer|disable)$/],
  require_auth: [VERIFY],
  gssencmode: [VERIFY, /^(prefer|disable)$/],
  sslcertmode: ['leave it out: a certificate is sent where sslcert names one', /^allow$/],
  sslcompression: ['', /./],
  sslcrldir: ['name one file in sslcrl'],
  sslkeylogfile: ['', /./],
  sslsni: ['leave it out: the host’s name is always sent', /^1$/],
  requirepeer: ['leave it out, and let nobody but the server’s user write the folder of its socket'],
  min_protocol_version: ['leave it out: the protocol is 3.0', /^3\.0$/],
  hostaddr: ['put the address in place of the host'],
  service: [DIRECTLY],
  servicefile: [DIRECTLY],
  passfile: ['set PGPASSFILE'],
};

/**
 * Problem of a URL's parameter or a variable of libpq: it is obeyed or refused, never ignored.
 * @param name `channel_binding` or `PGCHANNELBINDING`
 */
export function unkept(name: string, value: string): string | undefined {
  // PGPASSFILE is read, and PGSERVICEFILE means nothing without PGSERVICE.
  if (value === '' || /^PG(PASS|SERVICE)FILE$/.test(name)) return undefined;
  const found = Object.entries(UNKEPT).find(([key]) => [key, variableOf(key)].includes(name));
  if (found === undefined) return undefined;
  const [remedy, harmless] = found[1];
  return harmless?.test(value) === true ? undefined : `${name} can’t be obeyed: ${remedy}`;
}

function parseWebUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:\/\//i.test(text)) {
    throw new InvalidValue('is no URL: it begins with https://, such as https://research.example.com');
  }
  if (`${url.username}${url.password}` !== '') throw new InvalidValue('must not contain a user or password');
  if (`${url.search}${url.hash}` !== '') throw new InvalidValue('must not contain ? or #');
  return url;
}

function withoutTrailingSlash(url: URL): string {
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

/** libpq's TLS parameters that are obeyed, by name in a URL. */
export const TLS_PARAMETERS = [
  'sslmode',
  'sslrootcert',
  'sslcrl',
  'sslcert',
  'sslkey',
  'sslpassword',
  'sslnegotiation',
  'ssl_min_protocol_version',
  'ssl_max_protocol_version',
] as const;

export type TlsParameters = Readonly<Partial<Record<(typeof TLS_PARAMETERS)[number], string | undefined>>>;

/** Values of sslmode. libpq does not know the last one, which is the driver's. */
export const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/** libpq's variable for a parameter: `PGSSLMINPROTOCOLVERSION`. */
export function variableOf(parameter: string): string {
  return `PG${parameter.replaceAll('_', '').toUpperCase()}`;
}
