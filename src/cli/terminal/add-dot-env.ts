import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { dotEnvAdditions } from './dot-env.ts';
import { InvalidConfig } from '../../config/invalid.ts';
import { messageOf } from '@research-mirror/runtime/message';

/**
 * Adds `.env` to the environment, for libraries too (`PG*`, `HTTPS_PROXY`). Node reads NODE_EXTRA_CA_CERTS only when
 * it starts: one that comes from `.env` is made good here.
 * @param env `process.env`, which is changed
 * @throws InvalidConfig
 */
export function addDotEnv(env: Record<string, string | undefined>): void {
  const additions = dotEnvAdditions(env);
  Object.assign(env, additions);
  const certificates = additions['NODE_EXTRA_CA_CERTS'];
  if (certificates === undefined || certificates === '') return;
  try {
    setDefaultCACertificates([...getCACertificates('default'), readFileSync(certificates, 'utf8')]);
  } catch (error) {
    throw new InvalidConfig([`NODE_EXTRA_CA_CERTS: can't be used: ${messageOf(error)}`]);
  }
}
