import type { ServiceConfig } from '../../config/config.ts';
import { collection, type CollectionName } from '../../model/collections.ts';
import type { Sample } from '../../mirror/rows/live-rows.ts';
import { notVerified, type VerifiedCollection, type VerifyProgress } from '../../sync/verify/report.ts';
import { verifyAccount } from '../../sync/verify/verify-account.ts';
import type { UnknownKey } from '../accounts/account-keys.ts';
import type { Account } from '../accounts/account.ts';
import {
  type AccountCommand,
  type Asked,
  type CommandRun,
  runCommand,
  type RunOptions,
} from '../process/account-command.ts';

export type { Discrepancy, VerifiedCollection, VerifyProgress } from '../../sync/verify/report.ts';

interface VerifyAsked extends Asked {
  /** Null, or left out by an older version: everything is compared. */
  readonly sample?: Sample | null;
}

export interface VerifyReport {
  /** Every collection was read, and nothing that was compared is missing, extra or different. */
  readonly equal: boolean;
  readonly collections: readonly VerifiedCollection[];
  readonly unknownKeys: readonly UnknownKey[];
}

export const VERIFY: AccountCommand<VerifyAsked, VerifiedCollection, VerifyProgress> = {
  name: 'verify',
  notDone: notVerified,
  work: verifyOne,
};

/**
 * Reads the service again and compares the mirror with it, writing no row: by the daemon that owns the accounts, or
 * else by this process.
 * @throws what keeps all of it from being read; the signal's reason
 */
export async function runVerify(
  config: ServiceConfig,
  options: RunOptions<VerifyProgress>,
  asked: VerifyAsked,
): Promise<VerifyReport> {
  const { results, unknownKeys } = await runCommand(config, options, VERIFY, asked);
  const equal =
    unknownKeys.length === 0 &&
    results.every(
      ({ missing, extra, different, error }) => missing + extra + different === 0 && error === null,
    );
  return { equal, collections: results, unknownKeys };
}

function verifyOne(
  account: Account,
  { collections, sample = null }: VerifyAsked,
  { context: { db, config }, isDaemon, signal, onProgress }: CommandRun<VerifyProgress>,
): Promise<VerifiedCollection[]> {
  const { reader } = account;
  const asked = { context: account.reading, db, config, collections, sample, signal, onProgress };
  // A process of its own polls nothing.
  if (!isDaemon) return verifyAccount(asked);
  const catchUp = async (name: CollectionName): Promise<void> => {
    const found = collection(name);
    // What fails here fails in the daemon's own polls, too, which report it.
    const isOfLists = found.kind === 'list' && found.parent !== undefined;
    if (isOfLists) await reader.readDue(name, signal);
    else await reader.read(name, { what: 'poll', signal });
  };
  return verifyAccount({ ...asked, catchUp });
}
