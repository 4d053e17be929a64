import { ask } from '../../commands/ask.ts';
import { commandService } from '../../commands/carry-out.ts';
import type { ServiceConfig } from '../../config/config.ts';
import { livingHolder } from '../../db/ownership/lease.ts';
import { Doorbell } from '@research-mirror/runtime/doorbell';
import { findAccounts, type UnknownKey } from '../accounts/find-owners.ts';
import {
  type AccountCommand,
  accountsTaken,
  type Asked,
  type CollectionProgress,
  commandHandler,
} from './account-command.ts';
import { asProcess } from './own-process.ts';
import type { WorkOptions } from './process.ts';

export interface RunOptions<P> extends WorkOptions {
  readonly onProgress: (progress: P) => void;
}

export interface WorkDone<T> {
  readonly results: readonly T[];
  /** Keys whose account is not known: the service refused them, or did not answer. */
  readonly unknownKeys: readonly UnknownKey[];
}

/**
 * Does the command for every account of the configured keys. It leaves a row for each of them. This process takes the
 * account of the row and does what it says, and nothing else; the row of an account that a daemon owns it hands on to
 * that one.
 * @throws what keeps all of it from being done; the signal's reason when it is aborted
 */
export async function runCommand<A extends Asked, T, P extends CollectionProgress>(
  config: ServiceConfig,
  { onProgress, ...options }: RunOptions<P>,
  command: AccountCommand<A, T, P>,
  asked: A,
): Promise<WorkDone<T>> {
  const { signal } = options;
  return asProcess(config, command.name, options, async ({ context }) => {
    const { db, processId, identity, link, failures } = context;
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
