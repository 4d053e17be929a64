import { createApi, type Api, type Exchange } from '../../api/api.ts';
import type { ServiceGate } from '../../api/service-gate.ts';
import type { Transport } from '../../api/transport.ts';
import type { Budget, BudgetEvent } from '../../budget/budget.ts';
import { createBudget } from '../../budget/create-budget.ts';
import { PRIORITY } from '../../budget/priorities.ts';
import type { BudgetStore } from '../../budget/store/store.ts';
import type { KnownPages } from '../../model/known-pages.ts';
import type { Secret } from '../../config/secret.ts';
import type { Clock, Random } from '@research-mirror/runtime/clock';
import { pingedOwner } from '../../sync/ownership/owner-of.ts';
import { hashOfKey } from './servable-keys.ts';

/** What a key's client and budget are made of, besides the key. */
export interface ServiceLink {
  readonly transport: Transport;
  /** Of the service: one for all keys. */
  readonly gate?: ServiceGate;
  /** Of the process: what was read before, of any account. */
  readonly known?: KnownPages;
  readonly share: number;
  /** Whether somebody waits to take over what this process gives up; left out: nobody. */
  readonly isAwaited?: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly scrub: (text: string) => string;
  readonly onExchange: (exchange: Exchange) => void;
  readonly onBudgetEvent: (keyHash: string, event: BudgetEvent) => void;
}

/** A key with its client and its budget. */
export interface LinkedKey {
  readonly keyHash: string;
  readonly api: Api;
  readonly budget: Budget;
}

/** Makes the key's client and its budget, which starts from what is stored. */
export async function linkKey(link: ServiceLink, key: Secret, store: BudgetStore): Promise<LinkedKey> {
  const { transport, gate, known, share, isAwaited, clock, random, scrub, onExchange } = link;
  const keyHash = hashOfKey(key);
  const budget = createBudget({
    keyHash,
    clock,
    share,
    store,
    loaded: await store.load(keyHash),
    onEvent: (event) => link.onBudgetEvent(keyHash, event),
  });
  const api = createApi({
    transport,
    gate,
    known,
    key: key.reveal(),
    budget,
    isAwaited,
    clock,
    random,
    scrub,
    onExchange,
  });
  return { keyHash, api, budget };
}

/**
 * Asks whose the key is (specification 2.1).
 * @returns the owner's ID, decimal digits of a bigint
 * @throws KeyRefused, and what requests throw
 */
export async function pingOwner(api: Api, stop: AbortSignal): Promise<string> {
  const answer = await api.object({
    path: '/v1/ping',
    route: '/v1/ping',
    priority: PRIORITY.POLL,
    signal: new AbortController().signal,
    stop,
  });
  return pingedOwner(answer);
}
