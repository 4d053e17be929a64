import type { CommandHandler } from '../../commands/command-service.ts';
import type { Config } from '../../config/config.ts';
import type { CollectionName } from '../../model/collections.ts';
import { KeyRefused } from '../../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { AccountRunner } from '../accounts/account-runner.ts';
import type { OpenAccount } from '../accounts/open-account.ts';

/** A command that works account by account: in its own process, or in the daemon that owns them. */
export interface AccountCommand<T> {
  /** `verify`: what others see of its process, and what the daemon is asked for. */
  readonly name: string;
  /** Says that it was not done for a collection. */
  readonly notDone: (userId: string, collection: CollectionName, why: string) => T;
}

/** What a command is asked for: JSON, since it may go to the daemon. */
export interface Asked {
  readonly collections: readonly CollectionName[];
}

/** What is reported while a command works. */
export interface CollectionProgress {
  readonly userId: string;
  readonly collection: CollectionName;
}

/** What the daemon's work on one account is given. */
export interface Doing<P> {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: P) => void;
}

/**
 * The daemon's part: does the command for accounts that the daemon owns, side by side, under their leases and
 * budgets. It is not done for an account that the daemon does not own at the moment, nor for one whose key is
 * refused.
 */
// What was asked is JSON from the command's row: its caller names the type.
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function commandHandler<A extends Asked, T, P extends CollectionProgress>(
  config: Config,
  runners: () => readonly AccountRunner[],
  { notDone }: AccountCommand<T>,
  work: (account: OpenAccount, asked: A, doing: Doing<P>) => Promise<T[]>,
): CommandHandler {
  return async (given, { signal, report }) => {
    const asked = given as A & { readonly userIds: readonly string[] };
    const states = new Map<string, P>();
    const onProgress = (each: P): void => {
      states.set(`${each.userId}/${each.collection}`, each);
      report([...states.values()]);
    };
    const workOn = async (userId: string): Promise<T[]> => {
      const none = (why: string): T[] => asked.collections.map((name) => notDone(userId, name, why));
      const current = runners()
        .find((runner) => runner.userId === userId)
        ?.current();
      if (current === undefined) return none('the daemon does not hold the account at the moment');
      try {
        return await work(current.account, asked, { signal, onProgress });
      } catch (error) {
        if (!(error instanceof KeyRefused)) throw error;
        // The account's loops find it out at once, too: they stop, and ask until a key is good.
        for (const name of config.collections) current.service.pollDue(name);
        return none(messageOf(error));
      }
    };
    return (await Promise.all(asked.userIds.map(workOn))).flat();
  };
}
