import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { SSL_MODES, type TlsParameters } from '../../model/database/tls-parameters.ts';

/** Modes in which a connection in plain text may be the result. */
const WEAK = new Set(['disable', 'allow', 'prefer']);

export type Tls = false | ConnectionOptions;

/**
 * libpq's meaning of `sslmode` (its manual, "SSL Support"), which is not the driver's:
 * - disable, allow (plain first), prefer (TLS first; the default): no protection against anybody in between
 * - require: TLS without a check; where a root certificate is given, or lies in `~/.postgresql/root.crt`, as
 *   verify-ca
 * - verify-ca checks the authority, verify-full the host's name, too. `sslrootcert=system`: the authorities that Node
 *   knows. Without a root certificate verify-full uses those (NODE_EXTRA_CA_CERTS adds some); libpq refuses then.
 * @returns what to try, and what to try when the server refuses that; false: plain text
 * @throws Unusable for files that can't be read, and for values that libpq does not know
 */
export function tlsWays(parameters: TlsParameters): readonly [first: Tls, otherwise?: Tls] {
  const { sslrootcert, sslmode = sslrootcert === 'system' ? 'verify-full' : 'prefer' } = parameters;
  const mode = oneOf(SSL_MODES, 'sslmode', sslmode);
  if (isDirect(parameters) && WEAK.has(mode)) {
    throw new Unusable(
      'sslnegotiation=direct in DATABASE_URL needs sslmode=require, verify-ca or verify-full',
    );
  }
  if (mode === 'disable') return [false];
  const identity = {
    cert: contentOf('sslcert', parameters),
    key: contentOf('sslkey', parameters),
    passphrase: parameters.sslpassword,
    // libpq's least version is TLS 1.2, as Node's.
    minVersion: versionOf('ssl_min_protocol_version', parameters),
    maxVersion: versionOf('ssl_max_protocol_version', parameters),
  };
  const unchecked = { ...identity, rejectUnauthorized: false };
  if (mode === 'allow') return [false, unchecked];
  if (mode === 'prefer') return [unchecked, false];
  if (mode === 'no-verify') return [unchecked];
  const root = { sslrootcert: sslrootcert ?? ownRoot() };
  const ca = sslrootcert === 'system' ? undefined : contentOf('sslrootcert', root);
  const checked = { ...identity, ca, crl: contentOf('sslcrl', parameters) };
  if (mode === 'verify-full') return [checked];
  // Checks the chain, and not the name.
  if (ca !== undefined) return [{ ...checked, checkServerIdentity: () => undefined }];
  if (mode === 'require') return [unchecked];
  throw new Unusable(
    'sslmode=verify-ca in DATABASE_URL needs sslrootcert, the file of the authority’s certificate',
  );
}

/** Whether TLS begins at once, without the server being asked for it in plain text. */
export function isDirect({ sslnegotiation = 'postgres' }: TlsParameters): boolean {
  return oneOf(['postgres', 'direct'], 'sslnegotiation', sslnegotiation) === 'direct';
}

function versionOf(name: keyof TlsParameters, { [name]: value = '' }: TlsParameters) {
  return value === '' ? undefined : oneOf(['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'], name, value);
}

function oneOf<const T extends string>(known: readonly T[], name: string, value: string): T {
  const found = known.find((each) => each === value);
  if (found !== undefined) return found;
  const given = JSON.stringify(value.slice(0, 40));
  throw new Unusable(`${name} has no value ${given} (DATABASE_URL, PG…): take ${known.join(', ')}`);
}

/** The root certificate that a user has for all servers; undefined also for one who has neither HOME nor a name. */
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
    throw new Unusable(`the file that ${name} in DATABASE_URL names can't be read: ${messageOf(error)}`);
  }
}
