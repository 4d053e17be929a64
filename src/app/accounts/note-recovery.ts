import { openInstallation } from '../../db/installation/installation.ts';
import { recordRecovery } from '../../db/installation/recovery.ts';
import { DatabaseUnavailable } from '@research-mirror/runtime/errors';
import { DatabaseWentBack } from '../../model/errors.ts';
import type { Fence } from '../../model/fence.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { AccountContext } from './open-account.ts';

/** Wait (ms) before another attempt to store it. */
const AGAIN_MS = 1_000;

/**
 * Does work on an account that this process owns. If it finds that the database went back, that is stored before
 * anything else: whoever opens an account then reads it again. The attempt is repeated until the database takes it,
 * since nobody else may have noticed.
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
        // A new timeline is compared with the stored one: of several processes that see it, one stores it.
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
