import type { CommandHandler } from '../../commands/command-service.ts';
import type { Config, ServiceConfig } from '../../config/config.ts';
import type { Db } from '../../db/connection/db.ts';
import { collection, type CollectionName } from '../../model/collections.ts';
import type { Sample } from '../../mirror/rows/live-rows.ts';
import { notVerified, type VerifiedCollection, type VerifyProgress } from '../../sync/verify/report.ts';
import { verifyAccount } from '../../sync/verify/verify-account.ts';
import type { AccountRunner } from '../accounts/account-runner.ts';
import { type AccountCommand, type Asked, commandHandler } from '../process/account-command.ts';
import { type RunOptions, type UnknownKey, workOnAccounts } from '../process/account-work.ts';

export type { Discrepancy, VerifiedCollection, VerifyProgress } from '../../sync/verify/report.ts';

export const VERIFY: AccountCommand<VerifiedCollection> = {
  name: 'verify',
  notDone: notVerified,
};

interface VerifyAsked extends Asked {
  /** Null, or left out by an older version: everything is compared. */
  readonly sample?: Sample | null;
}

export interface VerifyOptions extends RunOptions<VerifyProgress>, VerifyAsked {}

export interface VerifyReport {
  /** Every collection was read, and nothing that was compared is missing, extra or different. */
  readonly equal: boolean;
  readonly collections: readonly VerifiedCollection[];
  readonly unknownKeys: readonly UnknownKey[];
}

/**
 * Reads the service again and compares the mirror with it, writing no row: by this process, or by the daemon that
 * owns the accounts.
 * @throws what keeps all of it from being read; the signal's reason
 */
export async function runVerify(config: ServiceConfig, options: VerifyOptions): Promise<VerifyReport> {
  const { collections, sample = null, signal, onProgress } = options;
  const { results, unknownKeys } = await workOnAccounts(config, options, {
    command: VERIFY,
    asked: { collections, sample },
    work: (context, { db }) =>
      verifyAccount({ context, db, config, collections, sample, signal, onProgress }),
  });
  const equal =
    unknownKeys.length === 0 &&
    results.every(
      ({ missing, extra, different, error }) => missing + extra + different === 0 && error === null,
    );
  return { equal, collections: results, unknownKeys };
}

/** `verify` in the daemon. */
export function verifyHandler(
  config: Config,
  db: Db,
  runners: () => readonly AccountRunner[],
): CommandHandler {
  return commandHandler<VerifyAsked, VerifiedCollection, VerifyProgress>(
    config,
    runners,
    VERIFY,
    (context, { collections, sample = null }, doing) => {
      const { reader } = context;
      const catchUp = async (name: CollectionName): Promise<void> => {
        const found = collection(name);
        // What fails here fails in the daemon's own polls, too, which report it.
        const isOfLists = found.kind === 'list' && found.parent !== undefined;
        if (isOfLists) await reader.readDue(name, doing.signal, 'all');
        else await reader.read(name, { what: 'poll', signal: doing.signal });
      };
      return reader.belowPolls(() =>
        verifyAccount({ context, db, config, ...doing, collections, sample, catchUp }),
      );
    },
  );
}
