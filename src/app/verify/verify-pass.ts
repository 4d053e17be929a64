import type { Db } from '../../db/connection/db.ts';
import type { Config } from '../../config/config.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { verifyAccount } from '../../sync/verify/verify-account.ts';
import type { VerifiedCollection, VerifyProgress } from '../../sync/verify/report.ts';
import type { OpenAccount } from '../accounts/open-account.ts';

export interface VerifyPass {
  readonly config: Config;
  readonly db: Db;
  readonly clock: Clock;
  readonly collections: readonly CollectionName[];
  readonly signal: AbortSignal;
  readonly onProgress: (progress: VerifyProgress) => void;
  readonly catchUp?: (name: CollectionName) => Promise<void>;
}

/** Verifies an account that this process holds. @throws as `verifyAccount` */
export function verifyPass(
  { fence, source, store }: OpenAccount,
  { config, db, clock, ...options }: VerifyPass,
): Promise<VerifiedCollection[]> {
  const { ignoreFields, excludeFields } = config;
  return verifyAccount({
    context: { fence, source, store, clock },
    db,
    rules: (name) => ({ ignore: new Set(ignoreFields[name]), exclude: new Set(excludeFields[name]) }),
    ...options,
  });
}
