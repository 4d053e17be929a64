import type { CommandHandler } from '../../commands/command-service.ts';
import type { ServiceConfig } from '../../config/config.ts';
import type { CollectionName } from '../../model/collections.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import type { SyncObserver } from '../../sync/reader/observer.ts';
import type { AccountRunner } from '../accounts/account-runner.ts';
import type { OpenAccount } from '../accounts/open-account.ts';
import { type CollectionPass, noPass, passOver } from './pass.ts';
import { type PassProgress, sumUp } from './pass-progress.ts';
import { workOnOwned } from '../process/work-on-owned.ts';

/** The command's name, and that of its request to the daemon. */
export const SYNC = 'sync';

/** What `sync` asks of the daemon. */
export interface SyncRequest {
  readonly userIds: readonly string[];
  readonly collections: readonly CollectionName[];
  readonly full: boolean;
  readonly acceptDeletions: boolean;
}

/** `sync` beside the daemon: a pass over accounts that it holds, under its lease and budget. */
export function syncHandler(
  config: ServiceConfig,
  runners: () => readonly AccountRunner[],
  observers: SyncObserver[],
): CommandHandler {
  return async (given, { signal, report }) => {
    const { userIds, collections, full, acceptDeletions } = given as SyncRequest;
    const sums = new Map<string, PassProgress>();
    const sum = sumUp((each) => {
      if (!userIds.includes(each.userId)) return;
      sums.set(`${each.userId}/${each.collection}`, each);
      report([...sums.values()]);
    });
    const observer: SyncObserver = {
      // The daemon's own polls go on beside a full pass: what they read is none of its progress.
      pageWritten: (page) => {
        if (!full || page.kind === 'full' || page.kind === 'single') sum.pageWritten?.(page);
      },
      suspectsWait: (wait) => sum.suspectsWait?.(wait),
      deletionsJudged: (judged) => sum.deletionsJudged?.(judged),
    };
    const work = async ({ reader, mirror, fence }: OpenAccount): Promise<CollectionPass[]> => {
      const options = { collections, full, acceptDeletions, signal, clock: systemClock };
      const passes = await passOver(reader, options);
      // Columns that came late are filled, too, when the asker hears that all is there.
      while (await mirror.backfill(fence)) signal.throwIfAborted();
      return passes;
    };
    observers.push(observer);
    try {
      return await workOnOwned(config, runners(), { userIds, collections, work, notDone: noPass });
    } finally {
      observers.splice(observers.indexOf(observer), 1);
    }
  };
}
