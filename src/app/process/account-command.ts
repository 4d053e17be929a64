import { ask, commandService, HandedOn, type CommandHandler } from '../../commands/commands.ts';
import type { ServiceConfig } from '../../config/config.ts';
import type { Secret } from '../../config/secret.ts';
import { DAEMON, livingHolder } from '../../db/ownership/lease.ts';
import type { CollectionName } from '../../model/collections.ts';
import { KeyRefused, LeaseLost } from '../../model/errors.ts';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { messageOf } from '@research-mirror/runtime/message';
import type { AccountRunner } from '../accounts/account-runner.ts';
import { findAccounts, type UnknownKey } from '../accounts/account-keys.ts';
import type { Account, ProcessContext } from '../accounts/account.ts';
import { AccountHeld, withAccount } from '../accounts/with-account.ts';
import type { WorkOptions } from './open-mirror.ts';
import { asProcess } from './process.ts';

/** What a command is asked for: JSON of its row. */
export interface Asked {
  readonly collections: readonly CollectionName[];
}

/** What is reported while a command works. */
export interface CollectionProgress {
  readonly userId: string;
  readonly collection: CollectionName;
}

/** A command that works account by account, in the process that owns the account. */
export interface AccountCommand<A extends Asked, T, P extends CollectionProgress> {
  /** `verify`: kind of its rows, and what others see of its process. */
  readonly name: string;
  /** Says that it was not done for a collection. */
  readonly notDone: (userId: string, collection: CollectionName, why: string) => T;
  readonly work: (account: Account, asked: A, run: CommandRun<P>) => Promise<T[]>;
}

/** What the work on an account is given. */
export interface CommandRun<P> {
  readonly context: ProcessContext;
  /** The account's own loops go on beside it: the process is a daemon. */
  readonly isDaemon: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: P) => void;
}

/** Does work on an account that this process owns. @throws HandedOn to the daemon that owns the account */
type UseAccount = <R>(
  userId: string,
  signal: AbortSignal,
  work: (account: Account) => Promise<R>,
) => Promise<R>;

/** A daemon's accounts: those that run at the moment. */
export function accountsOfDaemon(
  collections: readonly CollectionName[],
  runners: () => readonly AccountRunner[],
): UseAccount {
  return async (userId, _, work) => {
    const current = runners()
      .find((runner) => runner.userId === userId)
      ?.current();
    if (current === undefined) throw new LeaseLost('the daemon does not hold the account at the moment');
    try {
      return await work(current);
    } catch (error) {
      // The account's loops find it out at once, too: they stop, and ask until a key is good.
      if (error instanceof KeyRefused) for (const name of collections) current.service.pollDue(name);
      throw error;
    }
  };
}

/** Accounts that a command's own process takes for a moment, where no living process owns them. */
function accountsTaken(
  context: ProcessContext,
  accounts: ReadonlyMap<string, readonly Secret[]>,
): UseAccount {
  return async (userId, signal, work) => {
    try {
      return await withAccount(context, { userId, keys: accounts.get(userId) ?? [], signal }, work);
    } catch (error) {
      const isDaemons = error instanceof AccountHeld && error.by.command === DAEMON;
      throw isDaemons ? new HandedOn(error.by.processId) : error;
    }
  };
}

/**
 * Carries the command out for the accounts that its row names: one, or those of an older version's row. A refused
 * key, or a lease that is lost or another's, stops that account only.
 */
export function commandHandler<A extends Asked, T, P extends CollectionProgress>(
  { notDone, work }: AccountCommand<A, T, P>,
  context: ProcessContext,
  isDaemon: boolean,
  use: UseAccount,
): CommandHandler {
  return async (given, { signal, report }) => {
    const asked = given as A & { readonly userIds: readonly string[] };
    const states = new Map<string, P>();
    const onProgress = (each: P): void => {
      states.set(`${each.userId}/${each.collection}`, each);
      report([...states.values()]);
    };
    const workOn = async (userId: string): Promise<T[]> => {
      try {
        return await use(userId, signal, (account) =>
          work(account, asked, { context, isDaemon, signal, onProgress }),
        );
      } catch (error) {
        if (!(error instanceof KeyRefused || error instanceof LeaseLost)) throw error;
        return asked.collections.map((name) => notDone(userId, name, messageOf(error)));
      }
    };
    return (await Promise.all(asked.userIds.map(workOn))).flat();
  };
}

export interface RunOptions<P> extends WorkOptions {
  readonly onProgress: (progress: P) => void;
}

/**
 * Does the command for every account of the configured keys. It leaves a row for each of them. This process takes the
 * account of the row and does what it says, and nothing else; the row of an account that a daemon owns it hands on to
 * that one.
 * @returns what was done, and the keys whose account is not known: the service refused them, or did not answer
 * @throws what keeps all of it from being done; the signal's reason when it is aborted
 */
export async function runCommand<A extends Asked, T, P extends CollectionProgress>(
  config: ServiceConfig,
  { onProgress, ...options }: RunOptions<P>,
  command: AccountCommand<A, T, P>,
  asked: A,
): Promise<{ readonly results: readonly T[]; readonly unknownKeys: readonly UnknownKey[] }> {
  const { signal } = options;
  return asProcess(config, command.name, options, async ({ context }) => {
    // Past the line for a connection: this process has to hear itself in time.
    const { urgentDb: db, processId, identity, link, failures } = context;
    const { clock } = link;
    const { accounts, unknownKeys } = await findAccounts(context, signal);
    const bell = new Doorbell();
    const carrier = commandService({
      db,
      processId,
      handlers: { [command.name]: commandHandler(command, context, false, accountsTaken(context, accounts)) },
      bell,
      clock,
      onFailure: (error) => failures.failed('commands', 'commands', error),
    });
    await carrier.start();
    try {
      const rows = [...accounts.keys()].map((userId) => ({ userIds: [userId], ...asked }));
      const results = await ask(db, rows, {
        kind: command.name,
        to: processId,
        onLeft: () => bell.ring(),
        onProgress: (progress) => {
          for (const each of progress as P[]) onProgress(each);
        },
        lives: async (id) => id === processId || (await livingHolder(db, id, identity)) !== undefined,
        clock,
        signal,
      });
      return { results: (results as T[][]).flat(), unknownKeys };
    } finally {
      await carrier.stop();
    }
  });
}
