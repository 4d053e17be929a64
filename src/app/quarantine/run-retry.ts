import type { ServiceConfig } from '../../config/config.ts';
import type { CollectionName } from '../../model/collections.ts';
import { type UnknownKey, workOnAccounts } from '../process/account-work.ts';
import type { WorkOptions } from '../process/own-process.ts';
import { RETRY, type RetryRequest } from './quarantine-handler.ts';
import { notRetried, type RetriedCollection } from './quarantine-report.ts';
import { retryQuarantined } from './quarantine-retry.ts';

export interface RetryOptions extends WorkOptions {
  readonly collections: readonly CollectionName[];
  readonly onProgress: (retried: RetriedCollection) => void;
}

export interface RetryReport {
  readonly collections: readonly RetriedCollection[];
  readonly unknownKeys: readonly UnknownKey[];
}

/**
 * Writes quarantined items again, without a request to the service: by this process, or by the daemon that holds the
 * accounts.
 * @throws what keeps all of it from being tried; the signal's reason (what was written is kept)
 */
export async function runRetry(config: ServiceConfig, options: RetryOptions): Promise<RetryReport> {
  const { collections, signal, onProgress } = options;
  const asked: Omit<RetryRequest, 'userIds'> = { collections };
  const { results, unknownKeys } = await workOnAccounts<RetriedCollection>(config, options, {
    command: RETRY,
    asksService: false,
    arguments: asked,
    own: (account, { db, onChanged }) =>
      retryQuarantined(account, { db, collections, signal, onProgress, onChanged }),
    onProgress: (progress) => {
      for (const each of progress as RetriedCollection[]) onProgress(each);
    },
    notDone: (userId, why) => collections.map((name) => notRetried(userId, name, why)),
  });
  return { collections: results, unknownKeys };
}
