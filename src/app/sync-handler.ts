import type { CommandHandler } from '../commands/command-service.ts';
import type { ServiceConfig } from '../config/config.ts';
import type { CollectionName } from '../model/collections.ts';
import { KeyRefused } from '../model/errors.ts';
import { systemClock } from '../runtime/clock.ts';
import { messageOf } from '../runtime/message.ts';
import type { SyncObserver } from '../sync/observer.ts';
import type { AccountRunner } from './account-runner.ts';
import { type CollectionPass, noPass, passOver } from './pass.ts';
import { type PassProgress, sumUp } from './pass-progress.ts';

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
      doubtsWait: (wait) => sum.doubtsWait?.(wait),
      deletionsJudged: (judged) => sum.deletionsJudged?.(judged),
    };
    const passOf = async (userId: string): Promise<CollectionPass[]> => {
      const current = runners()
        .find((runner) => runner.userId === userId)
        ?.current();
      const none = (why: string): CollectionPass[] => collections.map((name) => noPass(userId, name, why));
      if (current === undefined) return none('the daemon does not hold the account at the moment');
      try {
        const { reader, mirror, fence } = current.account;
        const options = { collections, full, acceptDeletions, signal, clock: systemClock };
        const passes = await passOver(reader, options);
        // Columns that came late are filled, too, when the asker hears that all is there.
        while (await mirror.backfill(fence)) signal.throwIfAborted();
        return passes;
      } catch (error) {
        if (!(error instanceof KeyRefused)) throw error;
        // The account's own loops are to find it out at once, too: they stop, and ask until a key is good.
        for (const name of config.collections) current.service.pollDue(name);
        return none(messageOf(error));
      }
    };
    observers.push(observer);
    try {
      return (await Promise.all(userIds.map(passOf))).flat();
    } finally {
      observers.splice(observers.indexOf(observer), 1);
    }
  };
}
