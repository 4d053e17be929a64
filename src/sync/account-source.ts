import type { Api, ObjectRequest, PageRequest } from '../api/api.ts';
import type { ObjectAnswer } from '../api/envelope.ts';
import type { Budget } from '../budget/budget.ts';
import type { FreedSlots } from '../budget/store.ts';
import { KeyRefused, RequestRefused } from '../model/errors.ts';
import type { Page } from '../model/page.ts';

/** One API key of an account, with the client and the budget that are its own. */
export interface AccountKey {
  readonly keyHash: string;
  readonly api: Api;
  readonly budget: Budget;
}

const PING = { path: '/v1/ping', route: '/v1/ping' } as const;

/**
 * The service as one account reads it. Keys of one owner stand in for each other: the first good one is used, and
 * when it is refused (rotation) the next.
 */
export class AccountSource implements Api {
  readonly keys: readonly AccountKey[];
  readonly #refused = new Set<AccountKey>();

  constructor(keys: readonly AccountKey[]) {
    this.keys = keys;
  }

  page(request: PageRequest): Promise<Page> {
    return this.#withKey(request, (key) => key.api.page(request));
  }

  object(request: ObjectRequest): Promise<ObjectAnswer> {
    return this.#withKey(request, (key) => key.api.object(request));
  }

  /**
   * Asks again with every key, refused ones too.
   * @throws KeyRefused when none is good
   */
  async ping(request: Pick<ObjectRequest, 'priority' | 'signal' | 'stop'>): Promise<void> {
    let refusal: unknown;
    for (const key of this.keys) {
      try {
        await key.api.object({ ...PING, ...request });
        this.#refused.delete(key);
        return;
      } catch (error) {
        if (!(error instanceof KeyRefused)) throw error;
        this.#refused.add(key);
        refusal = error;
      }
    }
    throw refusal;
  }

  /** Requests wait for a slot: the rate limit is the bottleneck, not latency. */
  isCrowded(): boolean {
    return this.keys.some(({ budget }) => budget.snapshot().groups.some(({ waiting }) => waiting > 0));
  }

  /** What the budgets want stored with the next page; `putBack` when its transaction failed. */
  takeFreed(): FreedSlots[] {
    return this.keys.flatMap((key) => key.budget.takeFreed() ?? []);
  }

  putBack(freed: readonly FreedSlots[]): void {
    for (const each of freed) {
      this.keys.find((key) => key.keyHash === each.keyHash)?.budget.putBack(each);
    }
  }

  async #withKey<T>(request: ObjectRequest, send: (key: AccountKey) => Promise<T>): Promise<T> {
    for (;;) {
      const key = this.keys.find((candidate) => !this.#refused.has(candidate));
      if (key === undefined) throw new KeyRefused('every API key of the account is refused', 401);
      try {
        return await send(key);
      } catch (error) {
        if (!(error instanceof KeyRefused)) throw error;
        // 401 and 403 may also mean this endpoint alone (a plan without it): the ping tells the key's own state.
        if (await this.#isGood(key, request)) throw new RequestRefused(error.message, error.status);
        this.#refused.add(key);
        if (this.#refused.size === this.keys.length) throw error;
      }
    }
  }

  async #isGood(key: AccountKey, { priority, signal, stop }: ObjectRequest): Promise<boolean> {
    try {
      await key.api.object({ ...PING, priority, signal, ...(stop === undefined ? {} : { stop }) });
      return true;
    } catch (error) {
      if (error instanceof KeyRefused) return false;
      throw error;
    }
  }
}
