import type { Db } from '../../db/connection/db.ts';
import type { CommandHandler } from '../../commands/command-service.ts';
import type { Config } from '../../config/config.ts';
import { collection, type CollectionName } from '../../model/collections.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { notVerified, type VerifiedCollection, type VerifyProgress } from '../../sync/verify/report.ts';
import type { AccountRunner } from '../accounts/account-runner.ts';
import type { OpenAccount } from '../accounts/open-account.ts';
import { verifyPass } from './verify-pass.ts';
import { workOnOwned } from '../process/work-on-owned.ts';

/** The command's name, and that of its request to the daemon. */
export const VERIFY = 'verify';

/** What `verify` asks of the daemon. */
export interface VerifyRequest {
  readonly userIds: readonly string[];
  readonly collections: readonly CollectionName[];
}

/** `verify` beside the daemon: of accounts that it holds, under its lease and budget. */
export function verifyHandler(
  config: Config,
  db: Db,
  runners: () => readonly AccountRunner[],
): CommandHandler {
  return async (given, { signal, report }) => {
    const { userIds, collections } = given as VerifyRequest;
    const sums = new Map<string, VerifyProgress>();
    const onProgress = (each: VerifyProgress): void => {
      sums.set(`${each.userId}/${each.collection}`, each);
      report([...sums.values()]);
    };
    const work = (account: OpenAccount): Promise<VerifiedCollection[]> => {
      const { reader } = account;
      const catchUp = async (name: CollectionName): Promise<void> => {
        const found = collection(name);
        // What fails here fails in the daemon's own polls, which tell it.
        if (found.kind === 'list' && found.parent !== undefined) await reader.readDue(name, signal);
        else await reader.read(name, { what: 'poll', signal });
      };
      const pass = { config, db, clock: systemClock, collections, signal, onProgress, catchUp };
      return verifyPass(account, pass);
    };
    return workOnOwned(config, runners(), { userIds, collections, work, notDone: notVerified });
  };
}
