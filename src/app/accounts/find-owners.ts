import type { Secret } from '../../config/secret.ts';
import { knownKeys, rememberKey } from '../../db/accounts/api-keys.ts';
import { createFirstPingStore, OwnerKnown } from '../../db/budget/first-ping-store.ts';
import { KeyRefused } from '../../model/errors.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { PING } from '../../sync/ownership/ownership.ts';
import { pingedOwner } from '../../sync/ownership/owner-of.ts';
import { hashOfKey } from './servable-keys.ts';
import type { ProcessContext } from './account.ts';
import { linkKey } from './service-link.ts';

type KeyContext = Pick<ProcessContext, 'db' | 'link'>;

/** The keys by owner, as far as earlier runs stored it, and those whose owner has to be asked for. */
export async function sortKeys({ db }: Pick<KeyContext, 'db'>, keys: readonly Secret[]) {
  const known = new Map(
    (await knownKeys(db, keys.map(hashOfKey))).map(({ keyHash, userId }) => [keyHash, userId]),
  );
  const byOwner = Map.groupBy(keys, (key) => known.get(hashOfKey(key)) ?? '');
  const unknown = byOwner.get('') ?? [];
  byOwner.delete('');
  return { byOwner, unknown };
}

/**
 * Asks the service whose the key is, unless another process has just found out, and stores the answer. The ping's slot
 * is stored under the key. Whoever takes the account reads the key's budget again, since another process may have used
 * it until then.
 * @returns the account
 * @throws KeyRefused, and what requests throw
 */
export async function askOwner({ db, link }: KeyContext, key: Secret, stop: AbortSignal): Promise<string> {
  const { keyHash, budget, api } = await linkKey(link, key, createFirstPingStore(db));
  try {
    const { signal } = new AbortController();
    const userId = pingedOwner(await api.object({ ...PING, signal, stop }));
    await rememberKey(db, keyHash, { userId });
    return userId;
  } catch (error) {
    if (error instanceof OwnerKnown) return error.userId;
    if (error instanceof KeyRefused) await rememberKey(db, keyHash, { error: messageOf(error) });
    throw error;
  } finally {
    budget.close(new Error('the owner of the key was asked'));
    // Pings that were not sent give their slots back. Where that can't be stored, they count as sent for a while.
    await budget.flush().catch(() => {});
  }
}

export interface UnknownKey {
  /** As logs name it: the beginning of its hash. */
  readonly key: string;
  readonly error: string;
}

/**
 * The accounts of the configured keys, and the keys whose owner is not known. One that is refused, or can't be asked
 * for, delays no other.
 * @throws the first key's error, when no account is known at all; the signal's reason
 */
export async function findAccounts(context: ProcessContext, signal: AbortSignal) {
  const { byOwner: accounts, unknown } = await sortKeys(context, context.config.service.keys);
  const unknownKeys: UnknownKey[] = [];
  let first: unknown;
  for (const key of unknown) {
    try {
      const userId = await askOwner(context, key, signal);
      accounts.set(userId, [...(accounts.get(userId) ?? []), key]);
    } catch (error) {
      signal.throwIfAborted();
      first ??= error;
      unknownKeys.push({ key: hashOfKey(key).slice(0, 8), error: messageOf(error) });
    }
  }
  if (accounts.size === 0) throw first;
  return { accounts, unknownKeys };
}
