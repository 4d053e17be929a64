import {
  type DaemonAssignment,
  daemonAssignments,
  isAssigned,
  retiredAccounts,
  saveAssignment,
  type StoredPause,
  storedPauses,
} from '../../db/accounts/assignments.ts';
import { fenced } from '../../db/ownership/fenced.ts';
import { DAEMON } from '../../db/ownership/lease.ts';
import { saveCollection } from '../../mirror/scope/log-walk.ts';
import { LeaseLost } from '../../model/errors.ts';
import type { Fence } from '../../model/fence.ts';
import { type Service, service } from '@research-mirror/runtime/service';
import type { AccountsService } from '../accounts/accounts-service.ts';
import type { ProcessContext } from '../accounts/account.ts';
import { AccountHeld, withLease } from '../accounts/with-account.ts';

/** How often (ms) it looks: a retired account is released within that time. */
const LOOK_MS = 5_000;
/** How often (ms) it stores again what has not changed: a row that others took for a dead process's was removed. */
const SAVE_AGAIN_MS = 60_000;

/**
 * Stores what this daemon is asked to mirror, and marks collections as paused that no daemon is asked for: they are
 * not late. An account's owner marks its collections; where nobody owns the account, any daemon takes it for a
 * moment. Accounts that were retired are released.
 */
export function pauseKeeper(
  context: ProcessContext,
  accounts: Pick<AccountsService, 'runners' | 'allKnown'>,
): Service {
  const { db, config, clock, log, failures, processId } = context;
  /** What this daemon is asked for, as stored last, and when. */
  let saved = '';
  let savedAt = Number.NEGATIVE_INFINITY;

  const look = async (): Promise<void> => {
    const retired = await retiredAccounts(db);
    const runners = accounts.runners();
    for (const runner of runners) if (retired.has(runner.userId)) void runner.current()?.service.stop();
    const own: DaemonAssignment = {
      accounts: runners.map(({ userId }) => userId).filter((userId) => !retired.has(userId)),
      collections: config.collections,
      allKnown: accounts.allKnown(),
    };
    const asked = JSON.stringify(own);
    if (asked !== saved || clock.monotonic() - savedAt >= SAVE_AGAIN_MS) {
      await saveAssignment(db, processId, own);
      [saved, savedAt] = [asked, clock.monotonic()];
    }
    const stored = (await storedPauses(db, own)).filter(({ userId }) => !retired.has(userId));
    if (stored.length === 0) return;
    const daemons = await daemonAssignments(db, DAEMON);
    const wrong = stored.filter(
      ({ userId, collection, paused }) => paused === isAssigned(daemons, userId, collection),
    );
    for (const [userId, some] of Map.groupBy(wrong, (each) => each.userId)) {
      const runner = runners.find((each) => each.userId === userId);
      const fence = runner?.current()?.fence;
      // Where another process owns the account, that one does it.
      if (fence !== undefined) await store(fence, some);
      else if (runner === undefined) await storeOfNobody(userId, some);
    }
  };

  const store = (fence: Fence, wrong: readonly StoredPause[]): Promise<void> =>
    fenced(db, fence, async (trx, now) => {
      for (const { collection, paused } of wrong)
        await saveCollection(trx, fence.userId, collection, { pausedAt: paused ? null : now }, now);
    });

  const storeOfNobody = async (userId: string, wrong: readonly StoredPause[]): Promise<void> => {
    try {
      await withLease(context, userId, (fence) => store(fence, wrong));
      log.info(
        `account ${userId}: no daemon is asked for ${wrong.map(({ collection }) => collection).join(', ')}`,
      );
    } catch (error) {
      if (!(error instanceof AccountHeld)) throw error;
    }
  };

  return service('pauses', async ({ signal, ready }) => {
    ready();
    for (;;) {
      try {
        await look();
      } catch (error) {
        // Else another process took the account meanwhile, or it was retired: the next look sees it.
        if (!(error instanceof LeaseLost)) failures.failed('pauses', 'what is to be mirrored', error);
      }
      await clock.sleep(LOOK_MS, signal);
    }
  });
}
