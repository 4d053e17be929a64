/** Commands for accounts: carried out by the daemon that owns the account, or by the command itself where none does. */

import { messageOf } from '@research-mirror/runtime/message';
import { Stopped } from '@research-mirror/runtime/service';
import type { ServiceConfig } from '../config/config.ts';
import type { CollectionName, Scope } from '../model/collections.ts';
import { KeyRefused, LeaseLost } from '../model/errors.ts';
import { createFleetStore, DAEMON, livingProcess } from '../postgres/lease.ts';
import type { WorkOptions } from '../postgres/open-mirror.ts';
import { type Operator, operatorOn } from '../postgres/operator-log.ts';
import { findAccounts, type UnknownKey } from './account-keys.ts';
import type { AccountRunner } from './accounts-service.ts';
import type { Account } from './account.ts';
import { ask, type CommandHandler } from './commands.ts';
import { asProcess, type ProcessContext } from './process.ts';
import { AccountHeld, withAccount } from './with-account.ts';

/** Arguments of a command: the JSON of its row. */
export type CommandArguments = Readonly<{ collections: readonly CollectionName[] }>;

const UNKNOWN: Operator = { databaseUser: null, osUser: null, program: null };

export type CollectionProgress = Pick<Scope, 'userId' | 'collection'>;

/** A command that runs account by account, in the process that owns the account. */
export interface AccountCommand<A extends CommandArguments, T, P extends CollectionProgress> {
  /** `verify`: kind of its rows and name of its process for others. */
  readonly name: string;
  /** The result for a collection for which it was not done. */
  readonly notDone: (userId: string, collection: CollectionName, why: string) => T;
  readonly work: (account: Account, given: A, run: CommandRun<P>) => Promise<T[]>;
}

export interface CommandRun<P> {
  readonly context: ProcessContext;
  readonly askedBy: Operator;
  /** The process is a daemon: the account's own loops go on. */
  readonly isDaemon: boolean;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: P) => void;
}

/** A refused key, or a lost or foreign lease, stops only that account. @returns a handler that throws other errors */
function orNotDone<A extends CommandArguments, T, P extends CollectionProgress>(
  { notDone }: AccountCommand<A, T, P>,
  { collections }: A,
  userId: string,
) {
  return (error: unknown): T[] => {
    if (!(error instanceof KeyRefused || error instanceof LeaseLost)) throw error;
    return collections.map((name) => notDone(userId, name, messageOf(error)));
  };
}

/** Handles the command in a daemon, for the accounts of its row: one, or several in an older version's row. */
export function commandHandler<A extends CommandArguments, T, P extends CollectionProgress>(
  command: AccountCommand<A, T, P>,
  context: ProcessContext,
  runners: () => readonly AccountRunner[],
): CommandHandler {
  return async (row, { signal, report }) => {
    // Rows of 0.2 do not say who asked.
    const given = row as A & { readonly userIds: readonly string[]; readonly askedBy?: Operator };
    const { askedBy = UNKNOWN } = given;
    const states = new Map<string, P>();
    const onProgress = (each: P): void => {
      states.set(`${each.userId}/${each.collection}`, each);
      report([...states.values()]);
    };
    const workOn = async (userId: string): Promise<T[]> => {
      const runner = runners().find((each) => each.userId === userId);
      const account = runner?.current();
      if (account === undefined) throw new LeaseLost('the daemon does not own the account at the moment');
      try {
        return await command.work(account, given, { context, askedBy, isDaemon: true, signal, onProgress });
      } catch (error) {
        // The account's loops find out as well: they stop and ping until a key is good.
        if (error instanceof KeyRefused) for (const name of context.config.collections) account.service.pollDue(name);
        throw error;
      }
    };
    const all = given.userIds.map((userId) => workOn(userId).catch(orNotDone(command, given, userId)));
    return (await Promise.all(all)).flat();
  };
}

export type RunOptions<P> = WorkOptions & Pick<CommandRun<P>, 'onProgress'>;

/**
 * Runs the command for every account of the configured keys: this process takes the accounts that no daemon owns and
 * leaves a row for each of the others. If one fails, the others are withdrawn.
 * @returns the results, and the keys whose account is unknown: the service refused them or did not answer
 * @throws errors that concern all accounts; the signal's reason
 */
export async function runCommand<A extends CommandArguments, T, P extends CollectionProgress>(
  config: ServiceConfig,
  { onProgress, ...options }: RunOptions<P>,
  command: AccountCommand<A, T, P>,
  given: A,
): Promise<{ readonly results: readonly T[]; readonly unknownKeys: readonly UnknownKey[] }> {
  return asProcess(config, command.name, options, async ({ context }) => {
    // Bypasses the queue for a connection, which the accounts of this process may fill.
    const { urgentDb: db, processId, identity, link } = context;
    const askedBy = await operatorOn(db);
    const { accounts, unknownKeys } = await findAccounts(context, options.signal);
    const failed = new AbortController();
    const signal = AbortSignal.any([options.signal, failed.signal]);
    const leave = async (userIds: readonly string[], to: string): Promise<T[]> => {
      const rows = userIds.map((userId) => ({ ...given, userIds: [userId], askedBy }));
      const results = await ask(db, rows, {
        kind: command.name,
        to,
        onProgress: (progress) => {
          for (const each of progress as P[]) onProgress(each);
        },
        lives: async () => (await livingProcess(db, to, identity)) !== undefined,
        clock: link.clock,
        signal,
      });
      return (results as T[][]).flat();
    };
    const take = async (userId: string): Promise<T[]> => {
      const keys = accounts.get(userId) ?? [];
      try {
        return await withAccount(context, { userId, keys, signal }, (account) =>
          command.work(account, given, { context, askedBy, isDaemon: false, signal, onProgress }),
        );
      } catch (error) {
        if (!(error instanceof AccountHeld && error.by.command === DAEMON)) throw error;
        return leave([userId], error.by.processId);
      }
    };
    const { living, accounts: rows } = await createFleetStore(db, processId, identity).look();
    const byDaemon = Map.groupBy(accounts.keys(), (userId) => {
      const owner = living.find((each) => each.processId === rows.get(userId)?.owner);
      return owner?.command === DAEMON ? owner.processId : '';
    });
    const parts = Array.from(byDaemon, ([daemon, userIds]) =>
      daemon === ''
        ? userIds.map((userId) => take(userId).catch(orNotDone(command, given, userId)))
        : [leave(userIds, daemon)],
    ).flat();
    try {
      return { results: (await Promise.all(parts)).flat(), unknownKeys };
    } catch (error) {
      failed.abort(new Stopped('the command'));
      await Promise.allSettled(parts);
      throw error;
    }
  });
}
