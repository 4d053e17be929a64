import { ClassifiedError } from '@research-mirror/runtime/errors';
import {
  type Api,
  type ObjectRequest,
  type OnceRequest,
  type PageRequest,
  type RawAnswer,
  Withheld,
} from '../../api/api.ts';
import type { ObjectAnswer } from '../../api/envelope.ts';
import type { Budget } from '../../budget/budget.ts';
import type { RateGroup } from '../../budget/rate-groups.ts';
import type { FreedSlots } from '../../budget/store.ts';
import type { CompleteScope } from '../../mirror/scope/complete-as-of.ts';
import { KeyRefused, refusesKey, RequestRefused } from '../../model/errors.ts';
import type { Page } from '../../model/page.ts';
import { type Ownership, PingRefused } from '../ownership/ownership.ts';

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

type Waiting = Pick<ObjectRequest, 'signal' | 'stop'>;

/**
 * The service as one account reads it. Keys of one owner stand in for each other: the first good one is used, and the
 * next when it is refused (rotation). An answer is passed on only with a fresh proof that it is the account's
 * (ownership.ts).
 */
export class AccountSource implements Api {
  readonly keys: readonly AccountKey[];
  readonly #refused = new Set<AccountKey>();
  readonly #ownership: Ownership;

  constructor(keys: readonly AccountKey[], ownership: Ownership) {
    this.keys = keys;
    this.#ownership = ownership;
  }

  /** Hashes of the keys that the service refused last. */
  refusedKeys(): readonly string[] {
    return [...this.#refused].map(({ keyHash }) => keyHash);
  }

  /** @throws AccountMoved, KeyRefused; as `Api.page` */
  async page(request: PageRequest): Promise<Page> {
    const page = await this.#withKey(request, (key) =>
      this.#ownership.asOwner(key, request, (mayStart) => key.api.page({ ...request, mayStart })),
    );
    this.assertOwn();
    return page;
  }

  /** @throws as `page` */
  async object(request: ObjectRequest): Promise<ObjectAnswer> {
    const answer = await this.#withKey(request, (key) => this.#ownership.readOwned(key, request));
    this.assertOwn();
    return answer;
  }

  /** Call it right before anything is written of an answer. @throws AccountMoved */
  assertOwn(): void {
    this.#ownership.assertOwn();
  }

  /**
   * Proves that everything that was answered before this call is the account's own, by requests that are sent after
   * it.
   * @returns false where a key that answered is refused now
   * @throws AccountMoved; what pings throw
   */
  proveAll(waiting: Waiting): Promise<boolean> {
    return this.#ownership.proveAll(waiting);
  }

  /** Has it stored with the next proof. Call it when what it rests on is committed. */
  claimComplete(claim: CompleteScope): void {
    this.#ownership.claimComplete(claim);
  }

  /** Something is complete as soon as the next proof confirms it. */
  get hasClaims(): boolean {
    return this.#ownership.hasClaims;
  }

  /**
   * Sends a request at most once, with the first good key: no other stands in for it. 401 and 403 are answers like
   * others; ask `isGood` what they mean.
   * @returns undefined where `claim` said no
   * @throws KeyRefused, AccountMoved, with nothing sent; what `Api.once` throws
   */
  async once(request: OnceRequest): Promise<KeyAnswer | undefined> {
    for (;;) {
      const key = this.#firstGood();
      try {
        const answer = await this.#ownership.asOwner(key, request, (mayStart) =>
          sendIf(mayStart, key.api, request),
        );
        return answer === undefined ? undefined : { ...answer, keyHash: key.keyHash };
      } catch (error) {
        if (!(error instanceof PingRefused)) throw error;
        this.#refuse(key, error.refusal);
      }
    }
  }

  /**
   * Asks by a ping whether the key is still good; a refused one is not used any more.
   * @throws where the ping has no answer
   */
  async isGood(keyHash: string, request: Waiting): Promise<boolean> {
    const key = this.keys.find((each) => each.keyHash === keyHash);
    if (key === undefined) return false;
    const good = await this.#isGood(key, request);
    if (!good) this.#refused.add(key);
    return good;
  }

  /** Requests of the group that the budget allows in 60 s, as far as known; at least 1. */
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
  async ping(request: Waiting): Promise<void> {
    let refusal: unknown;
    for (const key of this.keys) {
      try {
        await this.#ownership.prove(key, request);
        this.#refused.delete(key);
        return;
      } catch (error) {
        if (!refusesKey(error)) throw error;
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

  /** What the budgets want stored with the next page; `putBack` if its transaction fails. */
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
        if (error instanceof PingRefused) {
          this.#refuse(key, error.refusal);
          continue;
        }
        if (!refusesKey(error)) throw error;
        // 401 and 403 may also refuse this endpoint alone (a plan without it): a ping tells which.
        if (await this.#isStillGood(key, request)) throw new RequestRefused(error.message, error.status);
        this.#refuse(key, error);
      }
    }
  }

  /** @throws `refusal` where no other key is left */
  #refuse(key: AccountKey, refusal: KeyRefused): void {
    this.#refused.add(key);
    if (this.#refused.size === this.keys.length) throw refusal;
  }

  #firstGood(): AccountKey {
    const key = this.keys.find((one) => !this.#refused.has(one));
    if (key === undefined) throw new KeyRefused('every API key of the account is refused', 401);
    return key;
  }

  /**
   * One ping for all requests that are refused at about the same time. It may be older than the refusal, so that a
   * key withdrawn in between passes as good: the next refusal corrects that.
   */
  async #isStillGood(key: AccountKey, request: Waiting): Promise<boolean> {
    return !this.#refused.has(key) && (await this.#isGood(key, request));
  }

  async #isGood(key: AccountKey, { signal, stop }: Waiting): Promise<boolean> {
    try {
      await this.#ownership.prove(key, stop === undefined ? { signal } : { signal, stop });
      return true;
    } catch (error) {
      if (refusesKey(error)) return false;
      throw error;
    }
  }
}

/** Sends a request unless it may not start when its slot is there. @throws Withheld */
async function sendIf(
  mayStart: () => boolean,
  api: Api,
  request: OnceRequest,
): Promise<RawAnswer | undefined> {
  let withheld = false;
  const claim = async (): Promise<boolean> => {
    withheld = !mayStart();
    return !withheld && ((await request.claim?.()) ?? true);
  };
  const answer = await api.once({ ...request, claim });
  if (withheld) throw new Withheld('not sent: it may not go out now');
  return answer;
}

/**
 * Proves that everything that was read so far is the account's own.
 * @returns why that can't be proven now; undefined: it is proven
 * @throws KeyRefused, LeaseLost; the signal's reason
 */
export async function whyNotProven(
  { source }: { readonly source: Pick<AccountSource, 'proveAll'> },
  signal: AbortSignal,
): Promise<Error | undefined> {
  try {
    const proven = await source.proveAll({ signal });
    return proven
      ? undefined
      : new RequestRefused('an API key was refused before it was proven whose data it read', 401);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ClassifiedError) || error.remedy === 'stop') throw error;
    return error;
  }
}
