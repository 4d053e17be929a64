import type { ServiceConfig } from '../../config/config.ts';
import type { CollectionName } from '../../model/collections.ts';
import { refusesKey } from '../../model/errors.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { type UnknownKey, workOnAccounts } from '../process/account-work.ts';
import type { WorkOptions } from '../process/own-process.ts';
import type { OpenAccount } from '../accounts/open-account.ts';
import { type CollectionPass, noPass, passOver } from './pass.ts';
import { type PassProgress, sumUp } from './pass-progress.ts';
import { SYNC, type SyncRequest } from './sync-handler.ts';

export interface SyncOptions extends WorkOptions {
  readonly collections: readonly CollectionName[];
  readonly full: boolean;
  /** Lifts the brake of deletions; with `full` only. */
  readonly acceptDeletions: boolean;
  readonly onProgress?: (progress: PassProgress) => void;
}

export interface SyncReport {
  readonly collections: readonly CollectionPass[];
  /** Keys whose account nobody knows: refused by the service, or not answered. */
  readonly unknownKeys: readonly UnknownKey[];
  /** Requests sent to read the collections, pings apart, and how many of them were answered with 429. */
  readonly requests: number;
  readonly rateLimited: number;
}

/**
 * One pass over the collections: by this process, or carried out by the daemon that holds the accounts.
 * @throws what keeps all of it from being read; the signal's reason when it is aborted (what was committed is kept)
 */
export async function runSync(config: ServiceConfig, options: SyncOptions): Promise<SyncReport> {
  const { collections, full, acceptDeletions, onProgress = () => {} } = options;
  const asked: Omit<SyncRequest, 'userIds'> = { collections, full, acceptDeletions };
  const { results, unknownKeys } = await workOnAccounts<CollectionPass>(config, options, {
    command: SYNC,
    asksService: true,
    arguments: asked,
    own: (account, { link: { clock } }) => syncOne(account, options, clock),
    observers: [sumUp(onProgress)],
    onProgress: (progress) => {
      for (const each of progress as PassProgress[]) onProgress(each);
    },
    notDone: (userId, why) => collections.map((name) => noPass(userId, name, why)),
  });
  return {
    collections: results,
    unknownKeys,
    requests: results.reduce((sum, each) => sum + each.requests, 0),
    rateLimited: results.reduce((sum, each) => sum + each.rateLimited, 0),
  };
}

async function syncOne(account: OpenAccount, options: SyncOptions, clock: Clock): Promise<CollectionPass[]> {
  const { reader, mirror, store, fence } = account;
  try {
    const passes = await passOver(reader, { ...options, clock });
    while (await mirror.backfill(fence)) options.signal.throwIfAborted();
    await store.saveState('active', null);
    return passes;
  } catch (error) {
    if (refusesKey(error)) {
      await store.saveState('stopped', messageOf(error));
    }
    throw error;
  }
}
