import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { Logger } from '@research-mirror/runtime/logger';
import { makeFolder } from '@research-mirror/runtime/make-folder';
import { messageOf } from '@research-mirror/runtime/message';

const LOOPBACK = /^(localhost|127(\.\d+){3}|::1|\[::1\])$/;

/**
 * The token that page, API and metrics ask for: the configured one; none on loopback; elsewhere one that is made
 * once, shown then in the log, and kept in the data folder, readable by this user alone.
 */
export async function statusToken(
  config: Config,
  hide: (secret: string) => void,
  log: Logger,
): Promise<string | undefined> {
  const { host, token } = config.http;
  if (token !== undefined) return token.reveal();
  if (LOOPBACK.test(host)) return undefined;
  const file = join(config.dataDir, 'status-token');
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (kept !== '') {
    hide(kept);
    log.info(`the status page asks for the token in ${file}`);
    return kept;
  }
  const made = randomBytes(24).toString('base64url');
  try {
    await makeFolder(config.dataDir);
    await writeFile(file, `${made}\n`, { mode: 0o600 });
    log.warn(`the status page on ${host} asks for a token, made just now and kept in ${file}: ${made}`);
  } catch (error) {
    log.warn(
      `the status page on ${host} asks for a token, for this run only (${messageOf(error)}): ${made}; ` +
        'set MIRROR_STATUS_TOKEN to choose one',
    );
  }
  // It was shown once, above; from now on no output shows it.
  hide(made);
  return made;
}
