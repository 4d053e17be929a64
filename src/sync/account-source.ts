import type { Api, ObjectRequest, OnceRequest, PageRequest, RawAnswer } from '../api/api.ts';
import type { ObjectAnswer } from '../api/envelope.ts';
import type { Budget } from '../budget/budget.ts';
import { PRIORITY } from '../budget/priorities.ts';
import type { RateGroup } from '../budget/rate-groups.ts';
import type { FreedSlots } from '../budget/store.ts';
import { KeyRefused, RequestRefused } from '../model/errors.ts';
import type { Page } from '../model/page.ts';
import { SharedCall } from './shared-call.ts';

/** One API key of an account, with the client and the budget that are its own. */
export interface AccountKey {
  readonly keyHash: string;
  readonly api: Api;
  readonly budget: Budget;
}

/** An answer, and by which key it was asked for. */
export interface KeyAnswer extends RawAnswer {
  readonly keyHash: string;
}

const PING = { path: '/v1/ping', route: '/v1/ping' } as const;

/**
 * The service as one account reads it. Keys of one owner stand in for each other: the first good one is used, and
 * when it is refused (rotation) the next.
 */
export class AccountSource implements Api {
  readonly keys: readonly AccountKey[];
  readonly #refused = new Set<AccountKey>();
  /** Pings that tell what a refusal of a read means. */
  readonly #pings = new Map<AccountKey, SharedCall<boolean>>();

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
   * Sends a request at most once, with the first good key: no other stands in for it. 401 and 403 are answers like
   * others; `isGood` tells what they mean.
   * @returns undefined where `claim` said no
   * @throws KeyRefused, with nothing sent, when every key is refused; what `Api.once` throws
   */
  async once(request: OnceRequest): Promise<KeyAnswer | undefined> {
    const key = this.#firstGood();
    const answer = await key.api.once(request);
    return answer === undefined ? undefined : { ...answer, keyHash: key.keyHash };
  }

  /**
   * Whether a ping still finds the key good; one that it does not is not used any more.
   * @throws where that can't be asked
   */
  async isGood(
    keyHash: string,
    request: Pick<ObjectRequest, 'priority' | 'signal' | 'stop'>,
  ): Promise<boolean> {
    const key = this.keys.find((each) => each.keyHash === keyHash);
    if (key === undefined) return false;
    const good = await this.#isGood(key, request);
    if (!good) this.#refused.add(key);
    return good;
  }

  /** How many requests of the group the budget allows in 60 s, as far as known: never less than 1. */
  sizeOf(group: RateGroup): number {
    const sizes = this.keys.flatMap(({ budget }) =>
      budget.snapshot().groups.flatMap((each) => (each.group === group ? [each.size] : [])),
    );
    return Math.max(1, ...sizes);
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
      const key = this.#firstGood();
      try {
        return await send(key);
      } catch (error) {
        if (!(error instanceof KeyRefused)) throw error;
        // 401 and 403 may also mean this endpoint alone (a plan without it): the ping tells the key's own state.
        if (await this.#isStillGood(key, request)) throw new RequestRefused(error.message, error.status);
        this.#refused.add(key);
        if (this.#refused.size === this.keys.length) throw error;
      }
    }
  }

  #firstGood(): AccountKey {
    const key = this.keys.find((candidate) => !this.#refused.has(candidate));
    if (key === undefined) throw new KeyRefused('every API key of the account is refused', 401);
    return key;
  }

  /**
   * One ping for all requests that are refused at about the same time. It may be older than the refusal, and a key that
   * was withdrawn just then pass for good: the next refusal tells.
   */
  async #isStillGood(key: AccountKey, { signal, stop }: ObjectRequest): Promise<boolean> {
    if (this.#refused.has(key)) return false;
    let ping = this.#pings.get(key);
    if (ping === undefined || ping.isOver) {
      const asked = new SharedCall((over) =>
        this.#isGood(key, {
          priority: PRIORITY.POLL,
          signal: new AbortController().signal,
          stop: over,
        }).finally(() => {
          if (this.#pings.get(key) === asked) this.#pings.delete(key);
        }),
      );
      this.#pings.set(key, asked);
      ping = asked;
    }
    return ping.wait(stop === undefined ? signal : AbortSignal.any([signal, stop]));
  }

  async #isGood(
    key: AccountKey,
    { priority, signal, stop }: Pick<ObjectRequest, 'priority' | 'signal' | 'stop'>,
  ): Promise<boolean> {
    try {
      await key.api.object({ ...PING, priority, signal, ...(stop === undefined ? {} : { stop }) });
      return true;
    } catch (error) {
      if (error instanceof KeyRefused) return false;
      throw error;
    }
  }
}
