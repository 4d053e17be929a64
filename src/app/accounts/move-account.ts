import type { Db } from '../../db/connection/db.ts';
import { randomUUID } from 'node:crypto';
import type { ServiceConfig } from '../../config/config.ts';
import { setOrigin } from '../../db/accounts/account-identity.ts';
import { forgetOwner } from '../../db/accounts/api-keys.ts';
import { fenced } from '../../db/ownership/fenced.ts';
import { releaseAccount, takeAccount } from '../../db/ownership/lease.ts';
import { ownIdentity } from '../../db/ownership/process-identity.ts';
import { forgetReadings } from '../../db/accounts/recheck.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import { ownedBy } from './account-runner.ts';
import { hashOfKey } from './service-link.ts';

/** What has been accepted of an account. */
export interface MovedAccount {
  readonly userId: string;
  /** The service that it is of from now on. */
  readonly origin: string;
  /** Configured keys that were its own, by short hash: they are asked anew whose they are. */
  readonly keys: readonly string[];
}

/**
 * Accepts that the account's service is the configured one, and that its keys may be another account's: whose they are
 * is asked at the next start, and rows of another owner become another account's. Full walks are due.
 * @returns undefined where there is no such account
 * @throws Unusable while a living process holds it
 */
export async function moveAccount(
  db: Db,
  { service }: Pick<ServiceConfig, 'schema' | 'service'>,
  userId: string,
): Promise<MovedAccount | undefined> {
  const { url: origin } = service;
  const account = await db.state
    .selectFrom('account')
    .select('_user_id')
    .where('_user_id', '=', userId)
    .executeTakeFirst();
  if (account === undefined) return undefined;
  const taken = await takeAccount(db, userId, randomUUID(), await ownIdentity());
  if (taken.state === 'owned') throw new Unusable(`${ownedBy(userId, taken.by)}: stop it first`);
  const { fence } = taken;
  try {
    await fenced(db, fence, async (trx, now) => {
      await setOrigin(trx, userId, origin);
      await forgetReadings(trx, userId, now);
      const stopped = trx.state.updateTable('account').set({ state: 'active', error: null });
      await stopped.where('_user_id', '=', userId).execute();
    });
    const keys = await forgetOwner(db, userId, service.keys.map(hashOfKey));
    return { userId, origin, keys: keys.map((hash) => hash.slice(0, 8)) };
  } finally {
    await releaseAccount(db, fence);
  }
}
