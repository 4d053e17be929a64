import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { ServiceConfig } from '../../config/config.ts';
import { setOrigin } from '../../db/accounts/account-identity.ts';
import { forgetOwner } from '../../db/accounts/api-keys.ts';
import { fenced } from '../../db/ownership/fenced.ts';
import { releaseAccount, takeAccount } from '../../db/ownership/lease.ts';
import { ownIdentity } from '../../db/ownership/process-identity.ts';
import { syncTables } from '../../db/connection/tables.ts';
import { forgetReadings } from '../../mirror/scope/forget-readings.ts';
import { Unusable } from '@research-mirror/runtime/errors';
import { heldBy } from './account-runner.ts';
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
  db: Kysely<unknown>,
  { schema, service }: Pick<ServiceConfig, 'schema' | 'service'>,
  userId: string,
): Promise<MovedAccount | undefined> {
  const { url: origin } = service;
  const account = await syncTables(db, schema)
    .selectFrom('account')
    .select('_user_id')
    .where('_user_id', '=', userId)
    .executeTakeFirst();
  if (account === undefined) return undefined;
  const taken = await takeAccount(db, schema, userId, randomUUID(), await ownIdentity());
  if (taken.state === 'held') throw new Unusable(`${heldBy(userId, taken.by)}: stop it first`);
  const { fence } = taken;
  try {
    await fenced(db, schema, fence, async (trx, now) => {
      await setOrigin(trx, schema, userId, origin);
      await forgetReadings(trx, schema, userId, now);
      const stopped = syncTables(trx, schema).updateTable('account').set({ state: 'active', error: null });
      await stopped.where('_user_id', '=', userId).execute();
    });
    const keys = await forgetOwner(db, schema, userId, service.keys.map(hashOfKey));
    return { userId, origin, keys: keys.map((hash) => hash.slice(0, 8)) };
  } finally {
    await releaseAccount(db, schema, fence);
  }
}
