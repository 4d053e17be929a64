import type { Db } from '../../db/connection/db.ts';
import type { CommandHandler } from '../../commands/command-service.ts';
import type { Config } from '../../config/config.ts';
import type { TableChange } from '../../db/notify/notifications.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { AccountRunner } from '../accounts/account-runner.ts';
import type { OpenAccount } from '../accounts/open-account.ts';
import { notRetried, type RetriedCollection } from './quarantine-report.ts';
import { retryQuarantined } from './quarantine-retry.ts';
import { workOnOwned } from '../process/work-on-owned.ts';

/** The command's name, and that of its request to the daemon. */
export const RETRY = 'quarantine retry';

/** What `quarantine retry` asks of the daemon. */
export interface RetryRequest {
  readonly userIds: readonly string[];
  readonly collections: readonly CollectionName[];
}

/** `quarantine retry` beside the daemon: of accounts that it holds, under its lease and in turn with its pages. */
export function retryHandler(
  config: Config,
  db: Db,
  runners: () => readonly AccountRunner[],
  onChanged: (change: TableChange) => void,
): CommandHandler {
  return async (given, { signal, report }) => {
    const { userIds, collections } = given as RetryRequest;
    const retried = new Map<string, RetriedCollection>();
    const onProgress = (each: RetriedCollection): void => {
      retried.set(`${each.userId}/${each.collection}`, each);
      report([...retried.values()]);
    };
    const work = (account: OpenAccount): Promise<RetriedCollection[]> =>
      retryQuarantined(account, { db, collections, signal, onProgress, onChanged });
    return workOnOwned(config, runners(), { userIds, collections, work, notDone: notRetried });
  };
}
