import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { Environment } from './environment.ts';
import { InvalidConfig } from './invalid.ts';

/**
 * What `.env` in the folder `cwd` adds to the environment: names that the environment does not set itself.
 * No such file is no problem; one that can't be read is.
 */
export function dotEnvAdditions(env: Environment, path = '.env'): Record<string, string> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return {};
    throw new InvalidConfig([`.env: can't be read (${code ?? 'unknown error'})`]);
  }
  const additions: Record<string, string> = {};
  for (const [name, value] of Object.entries(parseEnv(text))) {
    if (value !== undefined && env[name] === undefined) additions[name] = value;
  }
  return additions;
}
