import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { Unusable } from '@research-mirror/runtime/errors';
import { messageOf } from '@research-mirror/runtime/message';

/** libpq's parameters of TLS, where given. */
export interface TlsParameters {
  readonly sslmode?: string | undefined;
  readonly sslrootcert?: string | undefined;
  readonly sslcert?: string | undefined;
  readonly sslkey?: string | undefined;
  readonly sslpassword?: string | undefined;
}

/** What to try first, and what to try when the server refuses that. */
export interface TlsPlan {
  readonly first: false | ConnectionOptions;
  readonly otherwise?: false | ConnectionOptions;
}

/**
 * libpq's meaning of `sslmode` (its manual, "SSL Support"), which is not the driver's:
 * - disable, allow (plain first), prefer (TLS first; the default): no protection against anybody in between
 * - require: TLS without a check; where a root certificate is given, or lies in `~/.postgresql/root.crt`, as
 *   verify-ca
 * - verify-ca checks the authority, verify-full the host's name, too. `sslrootcert=system`: the authorities that Node
 *   knows. Without a root certificate verify-full uses those (NODE_EXTRA_CA_CERTS adds some); libpq refuses then.
 * @throws Unusable for files that can't be read
 */
export function tlsPlan(parameters: TlsParameters): TlsPlan {
  const mode = parameters.sslmode ?? (parameters.sslrootcert === 'system' ? 'verify-full' : 'prefer');
  if (mode === 'disable') return { first: false };
  const identity = clientCertificate(parameters);
  const unchecked = { ...identity, rejectUnauthorized: false };
  if (mode === 'allow') return { first: false, otherwise: unchecked };
  if (mode === 'prefer') return { first: unchecked, otherwise: false };
  if (mode === 'no-verify') return { first: unchecked };
  const root = rootCertificate(parameters.sslrootcert);
  if (mode === 'verify-full') return { first: { ...identity, ...root } };
  if (root.ca === undefined) {
    if (mode === 'require') return { first: unchecked };
    throw new Unusable(
      'sslmode=verify-ca in DATABASE_URL needs sslrootcert, the file of the authority’s certificate',
    );
  }
  // Checks the chain, and not the name.
  return { first: { ...identity, ...root, checkServerIdentity: () => undefined } };
}

function rootCertificate(file: string | undefined): ConnectionOptions {
  if (file === 'system') return {};
  const standard = join(homedir(), '.postgresql', 'root.crt');
  if (file === undefined && !existsSync(standard)) return {};
  return { ca: contentOf('sslrootcert', file ?? standard) };
}

function clientCertificate({ sslcert, sslkey, sslpassword }: TlsParameters): ConnectionOptions {
  return {
    ...(sslcert === undefined ? {} : { cert: contentOf('sslcert', sslcert) }),
    ...(sslkey === undefined ? {} : { key: contentOf('sslkey', sslkey) }),
    ...(sslpassword === undefined ? {} : { passphrase: sslpassword }),
  };
}

function contentOf(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Unusable(`the file that ${name} in DATABASE_URL names can't be read: ${messageOf(error)}`);
  }
}
