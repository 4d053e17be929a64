import type { ServiceConfig } from '../../config/config.ts';
import { refusesKey } from '../../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { SyncObserver } from '../../sync/reader/observer.ts';
import type { UnknownKey } from '../accounts/account-keys.ts';
import type { Account } from '../accounts/account.ts';
import {
  type AccountCommand,
  type CommandRun,
  runCommand,
  type RunOptions,
} from '../process/account-command.ts';
import { type AccountPassOptions, type CollectionPass, noPass, passOver } from './pass.ts';
import { type PassProgress, sumUp } from './pass-progress.ts';

interface SyncAsked extends Pick<AccountPassOptions, 'collections' | 'full'> {
  readonly acceptDeletions: boolean;
}

export interface SyncReport {
  readonly collections: readonly CollectionPass[];
  readonly unknownKeys: readonly UnknownKey[];
  /** Requests sent to read the collections, pings apart, and how many of them were answered with 429. */
  readonly requests: number;
  readonly rateLimited: number;
}

export const SYNC: AccountCommand<SyncAsked, CollectionPass, PassProgress> = {
  name: 'sync',
  notDone: noPass,
  work: syncAccount,
};

/**
 * One pass over the collections: by the daemon that owns the accounts, or else by this process.
 * @throws what keeps all of it from being read; the signal's reason when it is aborted (what was committed is kept)
 */
export async function runSync(
  config: ServiceConfig,
  options: RunOptions<PassProgress>,
  asked: SyncAsked,
): Promise<SyncReport> {
  const { results, unknownKeys } = await runCommand(config, options, SYNC, asked);
  return {
    collections: results,
    unknownKeys,
    requests: results.reduce((sum, each) => sum + each.requests, 0),
    rateLimited: results.reduce((sum, each) => sum + each.rateLimited, 0),
  };
}

async function syncAccount(
  { reader, mirror, store, fence }: Account,
  asked: SyncAsked,
  { context: { observers, clock }, askedBy, isDaemon, signal, onProgress }: CommandRun<PassProgress>,
): Promise<CollectionPass[]> {
  const sum = sumUp((each) => {
    if (each.userId === fence.userId) onProgress(each);
  });
  const observer: SyncObserver = {
    ...sum,
    // The daemon's own polls go on beside a full pass: what they read does not count.
    pageWritten: (page) => {
      if (!isDaemon || !asked.full || page.kind === 'full' || page.kind === 'single') sum.pageWritten?.(page);
    },
  };
  observers.push(observer);
  try {
    const acceptDeletions = asked.acceptDeletions && askedBy;
    const passes = await passOver(reader, { ...asked, acceptDeletions, signal, clock });
    // Late columns are filled before the command hears that it is done.
    while (await mirror.backfill(fence)) signal.throwIfAborted();
    if (!isDaemon) await store.saveState('active', null);
    return passes;
  } catch (error) {
    // In a daemon, the account's loops find it out and store it.
    if (!isDaemon && refusesKey(error)) await store.saveState('stopped', messageOf(error));
    throw error;
  } finally {
    observers.splice(observers.indexOf(observer), 1);
  }
}
