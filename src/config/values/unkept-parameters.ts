import { variableOf } from '../../model/database/tls-parameters.ts';

/** A parameter of libpq with a meaning that the driver can’t keep. */
interface Unkept {
  /** Values that ask for nothing that is not done anyway. */
  readonly harmless: RegExp;
  readonly remedy: string;
}

const NONE = /^$/;
const VERIFY = 'leave it out, and use sslmode=verify-full, which shuts out a server in between, too';
const DIRECTLY = 'leave it out, and give the values themselves';

/**
 * By name in a URL (libpq's manual, "Parameter Key Words"). What is not here is obeyed (src/db/connection/dsn.ts), or
 * says nothing about who can read along, whom we talk to and as whom: keepalives, encodings, libraries, and
 * target_session_attrs, since the daemon looks itself whether it can write.
 */
const UNKEPT: Readonly<Record<string, Unkept>> = {
  channel_binding: { harmless: /^(prefer|disable)$/, remedy: VERIFY },
  require_auth: { harmless: NONE, remedy: VERIFY },
  gssencmode: { harmless: /^(prefer|disable)$/, remedy: VERIFY },
  sslcertmode: { harmless: /^allow$/, remedy: 'leave it out: a certificate is sent where sslcert names one' },
  sslcrldir: { harmless: NONE, remedy: 'name one file in sslcrl' },
  sslsni: { harmless: /^1$/, remedy: 'leave it out: the host’s name is always sent' },
  requirepeer: {
    harmless: NONE,
    remedy: 'leave it out, and let nobody but the server’s user write the folder of its socket',
  },
  min_protocol_version: { harmless: /^3\.0$/, remedy: 'leave it out: the protocol is 3.0' },
  hostaddr: { harmless: NONE, remedy: 'put the address in place of the host' },
  service: { harmless: NONE, remedy: DIRECTLY },
  servicefile: { harmless: NONE, remedy: DIRECTLY },
  passfile: { harmless: NONE, remedy: 'set PGPASSFILE' },
};

/** `PGPASSFILE` is read, and `PGSERVICEFILE` asks for nothing without `PGSERVICE`. */
const HARMLESS_VARIABLE = /^PG(PASS|SERVICE)FILE$/;

/**
 * What is wrong with a parameter of a URL or a variable of libpq: it is obeyed or refused, never dropped.
 * @param name `channel_binding` or `PGCHANNELBINDING`
 * @returns undefined where it can be obeyed, or asks for nothing
 */
export function unkept(name: string, value: string): string | undefined {
  const [, promise] = Object.entries(UNKEPT).find(([key]) => [key, variableOf(key)].includes(name)) ?? [];
  if (promise === undefined || HARMLESS_VARIABLE.test(name) || value === '' || promise.harmless.test(value))
    return undefined;
  return `${name} can’t be obeyed: ${promise.remedy}`;
}
