import type { CommandHandler } from '../../commands/command-service.ts';
import type { ServiceConfig } from '../../config/config.ts';
import { refusesKey } from '../../model/errors.ts';
import { type Clock, systemClock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import type { SyncObserver } from '../../sync/reader/observer.ts';
import type { AccountRunner } from '../accounts/account-runner.ts';
import { type AccountCommand, type Asked, commandHandler } from '../process/account-command.ts';
import { type UnknownKey, workOnAccounts } from '../process/account-work.ts';
import type { WorkOptions } from '../process/process.ts';
import type { OpenAccount } from '../accounts/open-account.ts';
import { type CollectionPass, noPass, passOver } from './pass.ts';
import { type PassProgress, sumUp } from './pass-progress.ts';

export const SYNC: AccountCommand<CollectionPass> = { name: 'sync', notDone: noPass };

interface SyncAsked extends Asked {
  readonly full: boolean;
  /** Lifts the brake of deletions; with `full` only. */
  readonly acceptDeletions: boolean;
}

export interface SyncOptions extends WorkOptions, SyncAsked {
  readonly onProgress?: (progress: PassProgress) => void;
}

export interface SyncReport {
  readonly collections: readonly CollectionPass[];
  readonly unknownKeys: readonly UnknownKey[];
  /** Requests sent to read the collections, pings apart, and how many of them were answered with 429. */
  readonly requests: number;
  readonly rateLimited: number;
}

/**
 * One pass over the collections: by this process, or by the daemon that owns the accounts.
 * @throws what keeps all of it from being read; the signal's reason when it is aborted (what was committed is kept)
 */
export async function runSync(config: ServiceConfig, options: SyncOptions): Promise<SyncReport> {
  const { collections, full, acceptDeletions, onProgress = () => {} } = options;
  const { results, unknownKeys } = await workOnAccounts(
    config,
    { ...options, onProgress },
    {
      command: SYNC,
      asked: { collections, full, acceptDeletions },
      work: (account, { link: { clock } }) => syncOne(account, options, clock),
      observers: [sumUp(onProgress)],
    },
  );
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

/** `sync` in the daemon. @param observers of all that the daemon reads */
export function syncHandler(
  config: ServiceConfig,
  runners: () => readonly AccountRunner[],
  observers: SyncObserver[],
): CommandHandler {
  return commandHandler<SyncAsked, CollectionPass, PassProgress>(
    config,
    runners,
    SYNC,
    async ({ reader, mirror, fence }, asked, { signal, onProgress }) => {
      const sum = sumUp((each) => {
        if (each.userId === fence.userId) onProgress(each);
      });
      const observer: SyncObserver = {
        ...sum,
        // The daemon's own polls go on beside a full pass: what they read does not count.
        pageWritten: (page) => {
          if (!asked.full || page.kind === 'full' || page.kind === 'single') sum.pageWritten?.(page);
        },
      };
      observers.push(observer);
      try {
        const passes = await passOver(reader, { ...asked, signal, clock: systemClock });
        // Late columns are filled before the command hears that it is done.
        while (await mirror.backfill(fence)) signal.throwIfAborted();
        return passes;
      } finally {
        observers.splice(observers.indexOf(observer), 1);
      }
    },
  );
}
