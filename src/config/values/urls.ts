import { SSL_MODES, TLS_PARAMETERS } from '../../model/database/tls-parameters.ts';
import { InvalidValue } from '../invalid.ts';
import { Secret } from '../secret.ts';
import { suggestion } from '../suggestion.ts';
import { unkept } from './unkept-parameters.ts';

/**
 * Parses the service's address: `{base_url}` without trailing slash and `/v1`. Every request carries the API key, so
 * `http://` is for loopback only.
 */
export function parseServiceUrl(text: string): string {
  const url = parseWebUrl(text);
  if (url.protocol === 'http:' && !isLoopbackUrlHost(url.hostname)) {
    throw new InvalidValue(
      'http:// would show the API key to everybody on the way: use https:// (http:// is for loopback)',
    );
  }
  return withoutTrailingSlash(url).replace(/\/v1$/, '').replace(/\/+$/, '');
}

/** Parses the URL that the service delivers events to: without trailing slash. */
export function parsePublicUrl(text: string): string {
  return withoutTrailingSlash(parseWebUrl(text));
}

/** They promise nothing, or nothing more than is done (unkept-parameters.ts). */
const HARMLESS_SSL = /^ssl(compression|certmode|sni|keylogfile)$/;

/** Checks a Postgres URL; no message quotes it, since it may hold a password. */
export function parseDatabaseUrl(text: string): Secret {
  if (!/^postgres(ql)?:\/\//.test(text)) {
    throw new InvalidValue('is no connection URL of Postgres: postgres://user:password@host:5432/database');
  }
  // libpq allows an empty host (a socket, or PGHOST) even after a user. URL does not.
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

/** If `sslmod=require` were ignored, the connection would be unprotected. */
function unknownSsl(name: string, value: string): string | undefined {
  const known: readonly string[] = TLS_PARAMETERS;
  if (name === 'sslmode' && !SSL_MODES.includes(value)) {
    return `sslmode ${JSON.stringify(value)} is none of ${SSL_MODES.slice(0, 6).join(', ')}`;
  }
  if (!name.startsWith('ssl') || known.includes(name) || HARMLESS_SSL.test(name)) return undefined;
  return `has ${name}${suggestion(name, known)}, but of ssl… only ${known.join(', ')} are known`;
}

/** True for names and addresses that never leave this machine. */
function isLoopbackUrlHost(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(host);
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
