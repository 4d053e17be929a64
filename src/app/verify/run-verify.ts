import type { ServiceConfig } from '../../config/config.ts';
import type { CollectionName } from '../../model/collections.ts';
import { notVerified, type VerifiedCollection, type VerifyProgress } from '../../sync/verify/report.ts';
import { type UnknownKey, workOnAccounts } from '../process/account-work.ts';
import type { WorkOptions } from '../process/own-process.ts';
import { VERIFY, type VerifyRequest } from './verify-handler.ts';
import { verifyPass } from './verify-pass.ts';

export type { Discrepancy, VerifiedCollection, VerifyProgress } from '../../sync/verify/report.ts';

export interface VerifyOptions extends WorkOptions {
  readonly collections: readonly CollectionName[];
  readonly onProgress: (progress: VerifyProgress) => void;
}

export interface VerifyReport {
  /** Every collection was read, and nothing is missing, extra or different. */
  readonly equal: boolean;
  readonly collections: readonly VerifiedCollection[];
  readonly unknownKeys: readonly UnknownKey[];
}

/**
 * Reads the service again and compares the mirror with it, writing no row: by this process, or by the daemon that
 * holds the accounts.
 * @throws what keeps all of it from being read; the signal's reason
 */
export async function runVerify(config: ServiceConfig, options: VerifyOptions): Promise<VerifyReport> {
  const { collections, signal, onProgress } = options;
  const asked: Omit<VerifyRequest, 'userIds'> = { collections };
  const { results, unknownKeys } = await workOnAccounts<VerifiedCollection>(config, options, {
    command: VERIFY,
    asksService: true,
    arguments: asked,
    own: (account, { db, link: { clock } }) =>
      verifyPass(account, { config, db, clock, collections, signal, onProgress }),
    onProgress: (progress) => {
      for (const each of progress as VerifyProgress[]) onProgress(each);
    },
    notDone: (userId, why) => collections.map((name) => notVerified(userId, name, why)),
  });
  const equal =
    unknownKeys.length === 0 &&
    results.every(
      ({ missing, extra, different, error }) => missing + extra + different === 0 && error === null,
    );
  return { equal, collections: results, unknownKeys };
}
