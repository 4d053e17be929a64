import { variableOf } from '../../model/database/tls-parameters.ts';

const VERIFY = 'leave it out, and use sslmode=verify-full, which shuts out a server in between, too';
const DIRECTLY = 'leave it out, and give the values themselves';

/**
 * Parameters of libpq with a meaning that the driver can’t keep: the remedy, and values that ask for nothing that is not
 * done anyway. By name in a URL (libpq's manual, "Parameter Key Words"). What is not here is obeyed (src/db/connection/dsn.ts), or
 * says nothing about who can read along, whom we talk to and as whom: keepalives, encodings, libraries, and
 * target_session_attrs, since the daemon looks itself whether it can write.
 */
const UNKEPT: Readonly<Record<string, readonly [remedy: string, harmless?: RegExp]>> = {
  channel_binding: [VERIFY, /^(prefer|disable)$/],
  require_auth: [VERIFY],
  gssencmode: [VERIFY, /^(prefer|disable)$/],
  sslcertmode: ['leave it out: a certificate is sent where sslcert names one', /^allow$/],
  sslcrldir: ['name one file in sslcrl'],
  sslsni: ['leave it out: the host’s name is always sent', /^1$/],
  requirepeer: ['leave it out, and let nobody but the server’s user write the folder of its socket'],
  min_protocol_version: ['leave it out: the protocol is 3.0', /^3\.0$/],
  hostaddr: ['put the address in place of the host'],
  service: [DIRECTLY],
  servicefile: [DIRECTLY],
  passfile: ['set PGPASSFILE'],
};

/** `PGPASSFILE` is read, and `PGSERVICEFILE` asks for nothing without `PGSERVICE`. */
const HARMLESS_VARIABLE = /^PG(PASS|SERVICE)FILE$/;

/**
 * What is wrong with a parameter of a URL or a variable of libpq: it is obeyed or refused, never dropped.
 * @param name `channel_binding` or `PGCHANNELBINDING`
 * @returns undefined where it can be obeyed, or asks for nothing
 */
export function unkept(name: string, value: string): string | undefined {
  const [, found] = Object.entries(UNKEPT).find(([key]) => [key, variableOf(key)].includes(name)) ?? [];
  const [remedy, harmless] = found ?? [];
  if (remedy === undefined || value === '' || harmless?.test(value) === true) return undefined;
  return HARMLESS_VARIABLE.test(name) ? undefined : `${name} can’t be obeyed: ${remedy}`;
}
