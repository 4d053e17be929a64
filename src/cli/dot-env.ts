import { messageOf } from '@research-mirror/runtime/message';
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { parseEnv } from 'node:util';
import { type Environment, readTextFile, secretsOf } from '../config/environment.ts';
import { InvalidConfig } from '../config/parse-values.ts';
import type { Shell } from '../terminal/shell.ts';

/** Variables of the file that the environment does not set. The file may be missing, but not unreadable. */
export function dotEnvAdditions(env: Environment, path = '.env'): Record<string, string> {
  let text: string;
  try {
    text = readTextFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return {};
    throw new InvalidConfig([`.env: can't be read: ${messageOf(error)}`]);
  }
  // Lines that set nothing would be ignored ("MIRROR_API_KEY abc"). Quoted values may have several lines.
  const outside = text.replaceAll(QUOTED, (value) => `=${value.replaceAll(/[^\n]/g, '')}`);
  const slips = outside
    .split('\n')
    .flatMap((line, index) => (/^\s*(#.*)?$|=/.test(line.replace('\r', '')) ? [] : [index + 1]));
  if (slips.length > 0) {
    throw new InvalidConfig([`.env: line ${slips.join(', ')} sets nothing. Write NAME=value, or a comment after #.`]);
  }
  const variables = Object.entries(parseEnv(text));
  const strange = variables.map(([name]) => name).filter((name) => !/^[\x21-\x7e]+$/.test(name));
  if (strange.length > 0) {
    const names = strange.map((name) => JSON.stringify(name).slice(0, 80)).join(', ');
    throw new InvalidConfig([
      `.env: ${names} is not a variable name. Write NAME=value, with plain letters, digits and _ in the name.`,
    ]);
  }
  const additions: Record<string, string> = {};
  for (const [name, value] of variables) {
    if (value !== undefined && env[name] === undefined) additions[name] = value;
  }
  return additions;
}

const QUOTED = /=[ \t]*("[^"]*"|'[^']*'|`[^`]*`)/g;

/**
 * Adds `.env` to `env`, which is `process.env`, also for libraries (`PG*`, `HTTPS_PROXY`), and hides its secrets. Node
 * reads NODE_EXTRA_CA_CERTS only at its start, so it is applied here.
 * @throws InvalidConfig
 */
export function readEnvironment({ env, scrubber }: Shell): void {
  const additions = dotEnvAdditions(env);
  Object.assign(env, additions);
  scrubber.hide(...secretsOf(env));
  const certificates = additions['NODE_EXTRA_CA_CERTS'];
  if (certificates === undefined || certificates === '') return;
  try {
    setDefaultCACertificates([...getCACertificates('default'), readFileSync(certificates, 'utf8')]);
  } catch (error) {
    throw new InvalidConfig([`NODE_EXTRA_CA_CERTS: can't be used: ${messageOf(error)}`]);
  }
}
