import { createHash } from 'node:crypto';
import type { Db } from '../../db/connection/db.ts';
import type { ServiceConfig } from '../../config/config.ts';
import type { Secret } from '../../config/secret.ts';
import { AccountMoved } from '../../model/errors.ts';
import { otherService, storedIdentity } from '../../db/accounts/account-identity.ts';
import { knownKeys } from '../../db/accounts/api-keys.ts';

/** Nothing may be asked or written for an account: another service, or another account, has its keys. */
export class AccountUnservable extends AccountMoved {}

/** By which a key is known in the database, in logs and on pages: SHA-256, hexadecimal. */
export function hashOfKey(key: Secret): string {
  return createHash('sha256').update(key.reveal()).digest('hex');
}

/**
 * Leaves out keys that answered for another account. It is asked before anything else is done for an account: no
 * request may go to a service from which the account was not mirrored.
 * @param keys of the account, as far as known
 * @throws AccountUnservable
 */
export async function servableKeys(
  { db, config }: { readonly db: Db; readonly config: Pick<ServiceConfig, 'schema' | 'service'> },
  userId: string,
  keys: readonly Secret[],
): Promise<readonly Secret[]> {
  const { url } = config.service;
  const origin = (await storedIdentity(db, userId))?.origin ?? url;
  if (origin !== url) throw new AccountUnservable(otherService(userId, origin, url));
  const known = await knownKeys(db, keys.map(hashOfKey));
  const moved = known.filter((each) => each.moved !== undefined);
  const left = keys.filter((key) => !moved.some(({ keyHash }) => keyHash === hashOfKey(key)));
  if (moved[0]?.moved !== undefined && left.length === 0) throw new AccountUnservable(moved[0].moved);
  return left;
}
