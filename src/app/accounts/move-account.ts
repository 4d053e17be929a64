import type { Db } from '../../db/connection/db.ts';
import { randomUUID } from 'node:crypto';
import type { ServiceConfig } from '../../config/config.ts';
import { setOrigin } from '../../db/accounts/account-identity.ts';
import { forgetOwner } from '../../db/accounts/api-keys.ts';
import { fenced } from '../../db/ownership/fenced.ts';
import { ownIdentity } from '../../db/ownership/process-identity.ts';
import { forgetReadings } from '../../db/accounts/recheck.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import { AccountHeld, withLease } from './with-account.ts';
import { hashOfKey } from './servable-keys.ts';

/** An account whose service was changed to the configured one. */
export interface MovedAccount {
  readonly userId: string;
  /** Its service from now on: a base URL. */
  readonly origin: string;
  /** Configured keys that were its own, by short hash: their owner is asked for again. */
  readonly keys: readonly string[];
}

/**
 * Makes the configured service the account's service, and forgets the owners of its keys: the next start asks for
 * them, and what another owner has becomes another account. Full walks are due.
 * @returns undefined where there is no such account
 * @throws Unusable while a living process owns it; AccountRetired
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
  const owner = { urgentDb: db, processId: randomUUID(), identity: await ownIdentity() };
  const moving = withLease(owner, userId, async (fence) => {
    await fenced(db, fence, async (trx, now) => {
      await setOrigin(trx, userId, origin);
      await forgetReadings(trx, userId, now);
      const stopped = trx.state.updateTable('account').set({ state: 'active', error: null });
      await stopped.where('_user_id', '=', userId).execute();
    });
    const keys = await forgetOwner(db, userId, service.keys.map(hashOfKey));
    return { userId, origin, keys: keys.map((hash) => hash.slice(0, 8)) };
  });
  return moving.catch((error: unknown) => {
    throw error instanceof AccountHeld ? new Unusable(`${error.message}: stop it first`) : error;
  });
}
