import { createApi, type Exchange } from '../../api/api.ts';
import type { ServiceGate } from '../../api/service-gate.ts';
import type { Transport } from '../../api/transport.ts';
import { Budget, type BudgetEvent } from '../../budget/budget.ts';
import type { BudgetStore } from '../../budget/store.ts';
import type { KnownPages } from '../../model/known-pages.ts';
import type { Secret } from '../../config/secret.ts';
import type { Clock, Random } from '@research-mirror/runtime/clock';
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

/** Makes the key's client and its budget, which starts from what is stored. */
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
