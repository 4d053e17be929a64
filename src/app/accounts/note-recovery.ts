import { openInstallation } from '../../db/installation/installation.ts';
import { recordRecovery } from '../../db/installation/recovery.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { DatabaseWentBack } from '../../model/errors.ts';
import type { Fence } from '../../model/fence.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { AccountContext } from './open-account.ts';

/** Before it is tried again to make it known, milliseconds. */
const AGAIN_MS = 1_000;

/**
 * Runs what works on an account that this process owns; where it finds that the database went back, that is made known
 * before anything else: whoever opens an account then reads it anew. It is tried until the database takes it, since
 * nobody else may have noticed.
 * @throws what `task` throws; the signal's reason
 */
export async function notingRecovery<T>(
  { db, link: { clock }, log }: Pick<AccountContext, 'db' | 'link' | 'log'>,
  fence: Fence,
  signal: AbortSignal,
  task: () => Promise<T>,
): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (!(error instanceof DatabaseWentBack)) throw error;
    for (;;) {
      try {
        if (error.by === 'commits') await recordRecovery(db, fence, error);
        // A new timeline is judged against what is stored: of several who see it, one makes it known.
        else await openInstallation({ db, host: undefined, clock }, signal);
        throw error;
      } catch (cause) {
        if (!(cause instanceof DatabaseUnavailable)) throw cause;
        log.warn(`account ${fence.userId}: ${messageOf(error)}; this is not stored yet: ${messageOf(cause)}`);
        await clock.sleep(AGAIN_MS, signal);
      }
    }
  }
}
