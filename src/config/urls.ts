import { InvalidValue, suggestion } from './parse-values.ts';
import { Secret } from './secret.ts';

/** @returns `{base_url}` without trailing slash and `/v1`; `http://` only for loopback, as requests have the API key */
export function parseServiceUrl(text: string): string {
  const url = parseWebUrl(text);
  const isLoopback = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(url.hostname);
  if (url.protocol === 'http:' && !isLoopback) {
    throw new InvalidValue(
      'http:// would expose the API key to anyone on the network. Use https:// (http:// is for loopback only).',
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
  if (url === null || !/^https?:\/\//i.test(text)) throw new InvalidValue('is not a URL that begins with https://');
  if (`${url.username}${url.password}` !== '') throw new InvalidValue('must not contain a user or password');
  return new Secret(text);
}

/** No message quotes the URL, which may contain a password. */
export function parseDatabaseUrl(text: string): Secret {
  if (!/^postgres(ql)?:\/\//.test(text)) {
    throw new InvalidValue('is not a Postgres connection URL such as postgres://user:password@host:5432/database');
  }
  // libpq allows an empty host after a user (a socket, or PGHOST); URL does not.
  const url = URL.parse(text.replace(/^(postgres(?:ql)?:\/\/[^/?#@]*@)(?=[/?]|$)/, '$1localhost'));
  if (url === null) {
    throw new InvalidValue(
      'is not a valid URL. Give one host and a port up to 65535, and percent-encode special characters in user and password (@ is %40, # is %23, / is %2F).',
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
    return `sslmode ${JSON.stringify(value)} is not one of ${SSL_MODES.slice(0, 6).join(', ')}`;
  }
  if (!name.startsWith('ssl') || known.includes(name) || name in UNKEPT) return undefined;
  return `has the unknown parameter ${name}${suggestion(name, known)}. The known ones with ssl… are ${known.join(', ')}.`;
}

const VERIFY = 'Remove it and use sslmode=verify-full, which also shuts out a server in between.';
const DIRECTLY = 'Remove it and give the values themselves.';

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
  sslcertmode: ['Remove it. A certificate is sent if sslcert names one.', /^allow$/],
  sslcompression: ['', /./],
  sslcrldir: ['Name one file in sslcrl instead.'],
  sslkeylogfile: ['', /./],
  sslsni: ['Remove it. The host name is always sent.', /^1$/],
  requirepeer: ['Remove it and let only the server’s user write to the folder of its socket.'],
  min_protocol_version: ['Remove it. The protocol is 3.0.', /^3\.0$/],
  hostaddr: ['Put the address in place of the host.'],
  service: [DIRECTLY],
  servicefile: [DIRECTLY],
  passfile: ['Set PGPASSFILE instead.'],
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
  return harmless?.test(value) === true ? undefined : `${name} is not supported. ${remedy}`;
}

function parseWebUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:\/\//i.test(text)) {
    throw new InvalidValue('is not a URL that begins with https://, such as https://research.example.com');
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
