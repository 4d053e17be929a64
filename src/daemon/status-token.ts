import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Logger } from '@research-mirror/runtime/logger';
import { makeFolder } from '@research-mirror/runtime/make-folder';
import { messageOf } from '@research-mirror/runtime/message';
import { isLoopbackName } from '../status/reply.ts';

/**
 * The token that page, API and metrics ask for: the configured one; none on loopback; elsewhere one that is made
 * once, and kept in the data folder, readable by this user alone. A terminal shows it when it is made; the log never
 * has it, since logs are kept, and read by many.
 * @param hide takes a secret: no output shows it from then on
 * @param toTerminal shows a line to a person; undefined: there is no terminal
 */
export async function statusToken(
  { http: { host, token }, dataDir }: Pick<Config, 'http' | 'dataDir'>,
  hide: (secret: string) => void,
  log: Logger,
  toTerminal: ((line: string) => void) | undefined,
): Promise<string | undefined> {
  if (token !== undefined) return token.reveal();
  if (isLoopbackName(host)) return undefined;
  const file = join(dataDir, 'status-token');
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (kept !== '') {
    hide(kept);
    log.info(`the status page asks for the token in ${file}`);
    return kept;
  }
  const made = randomBytes(24).toString('base64url');
  toTerminal?.(`token of the status page: ${made}`);
  hide(made);
  try {
    await makeFolder(dataDir);
    await writeFile(file, `${made}\n`, { mode: 0o600 });
    log.warn(`the status page on ${host} asks for a token, made just now: it is in ${file}`);
  } catch (error) {
    const nobody = toTerminal === undefined ? ', and nobody knows it' : '';
    log.warn(
      `the status page on ${host} asks for a token, which is for this run only${nobody} (${messageOf(error)}): ` +
        'set MIRROR_STATUS_TOKEN to choose one',
    );
  }
  return made;
}
