import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@research-mirror/runtime/logger';
import { makeFolder } from '@research-mirror/runtime/make-folder';
import { messageOf } from '@research-mirror/runtime/message';
import type { Config } from '../config/config.ts';
import { isLoopbackName } from '../status/reply.ts';

/**
 * Token of page, API and metrics: the configured one; none on loopback; elsewhere one that is made once and kept in the
 * data folder, readable only by this user. The terminal shows it when it is made. The log never has it: logs are kept,
 * and many people read them.
 * @param hide removes a secret from all later output
 * @param toTerminal shows a person a line; undefined without a terminal
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
