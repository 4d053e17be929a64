import { messageOf } from '@research-mirror/runtime/message';
import type { ServiceConfig } from '../config/config.ts';
import { hashOfKey, type Secret } from '../config/secret.ts';
import { AccountMoved, KeyRefused } from '../model/errors.ts';
import { knownKeys, otherService, rememberKey, storedOrigin } from '../postgres/accounts.ts';
import type { Db } from '../postgres/db.ts';
import { askKeyOwner, createApi } from '../service/api.ts';
import { createFirstPingStore, OwnerKnown } from '../service/budget-store.ts';
import { Budget } from '../service/budget.ts';
import type { BudgetEvent } from '../service/key-budget.ts';
import type { BudgetStore } from '../service/slot-store.ts';

/** Dependencies of clients and budgets, shared by all keys of the service. */
export interface ServiceLink extends Omit<Parameters<typeof createApi>[0], 'key' | 'budget'> {
  /** MIRROR_BUDGET_SHARE. */
  readonly share: number;
  readonly onBudgetEvent: (keyHash: string, event: BudgetEvent) => void;
}

type KeyContext = Readonly<{ db: Db; link: ServiceLink; config: Pick<ServiceConfig, 'service'> }>;

/** Makes the client of a key, and its budget, which starts from the stored state. */
export async function linkKey(link: ServiceLink, key: Secret, store: BudgetStore) {
  const keyHash = hashOfKey(key);
  const budget = new Budget({
    ...link,
    keyHash,
    store,
    loaded: await store.load(keyHash),
    onEvent: (event) => link.onBudgetEvent(keyHash, event),
  });
  return { keyHash, api: createApi({ ...link, key: key.reveal(), budget }), budget };
}

/** Keys by owner as stored by earlier runs, and the keys whose owner is unknown. */
export async function sortKeys(db: Db, keys: readonly Secret[]) {
  const stored = await knownKeys(db, keys.map(hashOfKey));
  const owners = new Map(stored.map(({ keyHash, userId }) => [keyHash, userId]));
  const byOwner = Map.groupBy(keys, (key) => owners.get(hashOfKey(key)) ?? '');
  const unknown = byOwner.get('') ?? [];
  byOwner.delete('');
  return { byOwner, unknown };
}

/**
 * Asks the service for the key's owner, unless another process has just found out, and stores the answer. The ping's
 * slot is stored under the key. Taking the account rereads the key's budget: another process may use it until then.
 * @throws KeyRefused; errors of requests
 */
export async function askOwner(
  { db, link }: Omit<KeyContext, 'config'>,
  key: Secret,
  stop: AbortSignal,
): Promise<string> {
  const { keyHash, budget, api } = await linkKey(link, key, createFirstPingStore(db));
  try {
    const userId = await askKeyOwner(api, { signal: new AbortController().signal, stop });
    await rememberKey(db, keyHash, { userId });
    return userId;
  } catch (error) {
    if (error instanceof OwnerKnown) return error.userId;
    if (error instanceof KeyRefused) await rememberKey(db, keyHash, { error: messageOf(error) });
    throw error;
  } finally {
    budget.close(new Error('the check of the API key has ended'));
  }
}

export type UnknownKey = Awaited<ReturnType<typeof findAccounts>>['unknownKeys'][number];

/**
 * The accounts of the configured keys, and the keys without a known owner, by the beginning of their hash. A refused
 * key does not delay others.
 * @throws the first key's error if no account is known at all; the signal's reason
 */
export async function findAccounts(context: KeyContext, signal: AbortSignal) {
  const { byOwner: accounts, unknown } = await sortKeys(context.db, context.config.service.keys);
  const unknownKeys: { readonly key: string; readonly error: string }[] = [];
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

/** The account's keys belong to another service or account: no request and no write is allowed for it. */
export class AccountUnservable extends AccountMoved {}

/**
 * The account's keys that may be used: not those that answered for another one. Called before all other work for an
 * account, since no request may go to a service that it was not mirrored from.
 * @throws AccountUnservable
 */
export async function servableKeys(
  { db, config }: Omit<KeyContext, 'link'>,
  userId: string,
  keys: readonly Secret[],
): Promise<readonly Secret[]> {
  const { url } = config.service;
  const origin = (await storedOrigin(db, userId)) ?? url;
  if (origin !== url) throw new AccountUnservable(otherService(userId, origin, url));
  const known = await knownKeys(db, keys.map(hashOfKey));
  const moved = new Map(known.map((each) => [each.keyHash, each.moved]));
  const left = keys.filter((key) => moved.get(hashOfKey(key)) === undefined);
  const why = [...moved.values()].find((each) => each !== undefined);
  if (why !== undefined && left.length === 0) throw new AccountUnservable(why);
  return left;
}
