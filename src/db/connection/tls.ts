import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions, SecureVersion } from 'node:tls';
import { Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';
import { SSL_MODES, type TlsParameters } from '../../model/database/tls-parameters.ts';

/** Modes in which a connection in plain text may be the result. */
const WEAK = new Set(['disable', 'allow', 'prefer']);

type Tls = false | ConnectionOptions;

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
  const mode = parameters.sslmode ?? (parameters.sslrootcert === 'system' ? 'verify-full' : 'prefer');
  if (!SSL_MODES.includes(mode)) throw unknownValue('sslmode', mode, SSL_MODES);
  if (isDirect(parameters) && WEAK.has(mode)) {
    throw new Unusable(
      'sslnegotiation=direct in DATABASE_URL needs sslmode=require, verify-ca or verify-full',
    );
  }
  if (mode === 'disable') return [false];
  const identity = { ...clientCertificate(parameters), ...versions(parameters) };
  const unchecked = { ...identity, rejectUnauthorized: false };
  if (mode === 'allow') return [false, unchecked];
  if (mode === 'prefer') return [unchecked, false];
  if (mode === 'no-verify') return [unchecked];
  const root = {
    ...rootCertificate(parameters.sslrootcert),
    crl: contentOf('sslcrl', parameters.sslcrl),
  };
  if (mode === 'verify-full') return [{ ...identity, ...root }];
  if (root.ca === undefined) {
    if (mode === 'require') return [unchecked];
    throw new Unusable(
      'sslmode=verify-ca in DATABASE_URL needs sslrootcert, the file of the authority’s certificate',
    );
  }
  // Checks the chain, and not the name.
  return [{ ...identity, ...root, checkServerIdentity: () => undefined }];
}

/** Whether TLS begins at once, without the server being asked for it in plain text. */
export function isDirect({ sslnegotiation = 'postgres' }: TlsParameters): boolean {
  if (sslnegotiation === 'direct' || sslnegotiation === 'postgres') return sslnegotiation === 'direct';
  throw unknownValue('sslnegotiation', sslnegotiation, ['postgres', 'direct']);
}

const VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];

/** libpq's least version is TLS 1.2, as Node's. */
function versions(parameters: TlsParameters): ConnectionOptions {
  const version = (
    name: 'ssl_min_protocol_version' | 'ssl_max_protocol_version',
  ): SecureVersion | undefined => {
    const value = parameters[name];
    if (value === undefined || value === '') return undefined;
    if (!VERSIONS.includes(value)) throw unknownValue(name, value, VERSIONS);
    return value as SecureVersion;
  };
  return { minVersion: version('ssl_min_protocol_version'), maxVersion: version('ssl_max_protocol_version') };
}

function unknownValue(name: string, value: string, known: readonly string[]): Unusable {
  const given = JSON.stringify(value.slice(0, 40));
  return new Unusable(`${name} has no value ${given} (DATABASE_URL, PG…): take ${known.join(', ')}`);
}

function rootCertificate(file: string | undefined): ConnectionOptions {
  if (file === 'system') return {};
  const standard = standardRoot();
  if (file === undefined && (standard === undefined || !existsSync(standard))) return {};
  return { ca: contentOf('sslrootcert', file ?? standard ?? '') };
}

/** @returns undefined for a user who has neither HOME nor a name on this machine */
function standardRoot(): string | undefined {
  try {
    return join(homedir(), '.postgresql', 'root.crt');
  } catch {
    return undefined;
  }
}

function clientCertificate({ sslcert, sslkey, sslpassword }: TlsParameters): ConnectionOptions {
  return {
    cert: contentOf('sslcert', sslcert),
    key: contentOf('sslkey', sslkey),
    passphrase: sslpassword,
  };
}

function contentOf(name: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Unusable(`the file that ${name} in DATABASE_URL names can't be read: ${messageOf(error)}`);
  }
}
