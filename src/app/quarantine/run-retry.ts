import type { CommandHandler } from '../../commands/command-service.ts';
import type { ServiceConfig } from '../../config/config.ts';
import type { AccountRunner } from '../accounts/account-runner.ts';
import type { RunnerContext } from '../accounts/open-account.ts';
import { type AccountCommand, type Asked, commandHandler } from '../process/account-command.ts';
import { type RunOptions, type UnknownKey, workOnAccounts } from '../process/account-work.ts';
import { notRetried, type RetriedCollection } from './quarantine-report.ts';
import { retryQuarantined } from './quarantine-retry.ts';

export const RETRY: AccountCommand<RetriedCollection> = {
  name: 'quarantine retry',
  asksService: false,
  notDone: notRetried,
};

export interface RetryOptions extends RunOptions<RetriedCollection>, Asked {}

export interface RetryReport {
  readonly collections: readonly RetriedCollection[];
  readonly unknownKeys: readonly UnknownKey[];
}

/**
 * Writes quarantined items again, without a request to the service: by this process, or by the daemon that owns the
 * accounts.
 * @throws what keeps all of it from being tried; the signal's reason (what was written is kept)
 */
export async function runRetry(config: ServiceConfig, options: RetryOptions): Promise<RetryReport> {
  const { collections, signal, onProgress } = options;
  const { results, unknownKeys } = await workOnAccounts(config, options, {
    command: RETRY,
    asked: { collections },
    work: (account, { db, onChanged }) =>
      retryQuarantined(account, { db, collections, signal, onProgress, onChanged }),
  });
  return { collections: results, unknownKeys };
}

/** `quarantine retry` in the daemon: each batch takes its turn with the account's pages. */
export function retryHandler(
  { config, db, onChanged }: Pick<RunnerContext, 'config' | 'db' | 'onChanged'>,
  runners: () => readonly AccountRunner[],
): CommandHandler {
  return commandHandler<Asked, RetriedCollection, RetriedCollection>(
    config,
    runners,
    RETRY,
    (account, { collections }, doing) => retryQuarantined(account, { ...doing, db, collections, onChanged }),
  );
}
