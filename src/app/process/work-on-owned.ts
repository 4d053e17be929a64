import type { Config } from '../../config/config.ts';
import type { CollectionName } from '../../model/collections.ts';
import { KeyRefused } from '../../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { AccountRunner } from '../accounts/account-runner.ts';
import type { OpenAccount } from '../accounts/open-account.ts';

/** What a command beside the daemon asks of it. */
export interface OwnedWork<T> {
  readonly userIds: readonly string[];
  readonly collections: readonly CollectionName[];
  /** Does it for one account. */
  readonly work: (account: OpenAccount) => Promise<T[]>;
  /** Tells that it was not done for a collection. */
  readonly notDone: (userId: string, collection: CollectionName, why: string) => T;
}

/**
 * Does the work for accounts that the daemon holds, side by side. It is not done for one that the daemon does not hold
 * at the moment, nor for one whose key is refused.
 */
export async function workOnOwned<T>(
  config: Config,
  runners: readonly AccountRunner[],
  { userIds, collections, work, notDone }: OwnedWork<T>,
): Promise<T[]> {
  const workOn = async (userId: string): Promise<T[]> => {
    const none = (why: string): T[] => collections.map((name) => notDone(userId, name, why));
    const current = runners.find((runner) => runner.userId === userId)?.current();
    if (current === undefined) return none('the daemon does not hold the account at the moment');
    try {
      return await work(current.account);
    } catch (error) {
      if (!(error instanceof KeyRefused)) throw error;
      // The account's own loops are to find it out at once, too: they stop, and ask until a key is good.
      for (const name of config.collections) current.service.pollDue(name);
      return none(messageOf(error));
    }
  };
  return (await Promise.all(userIds.map(workOn))).flat();
}
