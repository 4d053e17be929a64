/** The account's way to the service: its keys, and the proof that answers belong to the account. */

import type { Clock } from '@research-mirror/runtime/clock';
import { ClassifiedError } from '@research-mirror/runtime/errors';
import { orAborted } from '@research-mirror/runtime/service';
import {
  type Api,
  askKeyOwner,
  type ObjectRequest,
  type OnceRequest,
  ownerOf,
  type PageRequest,
  type RawAnswer,
  Withheld,
} from '../service/api.ts';
import type { ObjectAnswer } from '../service/envelope.ts';
import type { Budget } from '../service/budget.ts';
import type { RateGroup } from '../service/rate-groups.ts';
import { AccountMoved, KeyRefused, MalformedAnswer, refusesKey, RequestRefused } from '../model/errors.ts';
import { isCopy, type Page } from '../model/page.ts';
import type { OwnershipStore } from './account-store.ts';
import { Proofs } from './proofs.ts';

/** One API key of an account, with the client and the budget that are its own. */
export type AccountKey = Readonly<{ keyHash: string; api: Api; budget: Budget }>;

type Waiting = Pick<ObjectRequest, 'signal' | 'stop'>;

/**
 * The service as one account reads it. The first good key is used, and the next one if it is refused (rotation). Each
 * request is sent within a minute of a ping that named the account as its key's owner; concurrent requests share a
 * ping. The first ping that names another owner stops the account (docs/design/ownership.md, "Whose data").
 */
export class AccountSource implements Api {
  readonly keys: readonly AccountKey[];
  readonly #userId: string;
  readonly #store: OwnershipStore;
  readonly #clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly #proofs = new Proofs();
  /** Running pings: each resolves with its failure; undefined: it succeeded, or its sender was stopped. */
  readonly #pings = new Map<AccountKey, Promise<unknown>>();
  /** Keys that the service has refused, with the refusal. */
  readonly #refused = new Map<AccountKey, KeyRefused>();
  #moved: AccountMoved | undefined;

  constructor(
    userId: string,
    keys: readonly AccountKey[],
    store: OwnershipStore,
    clock: Pick<Clock, 'monotonic' | 'now'>,
  ) {
    this.#userId = userId;
    this.keys = keys;
    this.#store = store;
    this.#clock = clock;
  }

  /** Hashes of the refused keys. */
  refusedKeys(): readonly string[] {
    return [...this.#refused.keys()].map(({ keyHash }) => keyHash);
  }

  /** @throws AccountMoved, KeyRefused; as `Api.page` */
  page(request: PageRequest): Promise<Page> {
    return this.#withKey(request, async ({ api }, mayStart) => {
      const page = await api.page({ ...request, mayStart });
      this.assertOwn();
      return page;
    });
  }

  /** An object that names its owner is a proof too. @throws as `page` */
  object(request: ObjectRequest): Promise<ObjectAnswer> {
    return this.#withKey(request, async (key, mayStart) => {
      const sending = this.#sending(mayStart);
      const answer = await key.api.object({ ...request, mayStart: sending.mayStart });
      const owner = ownerOf(answer);
      this.assertOwn();
      if (owner === undefined) return answer;
      if (!isCopy(answer.served)) await this.#ownerNamed(key, owner, sending);
      if (owner === this.#userId) return answer;
      const why = `GET ${request.path} returned account ${owner}, not ${this.#userId}`;
      throw new MalformedAnswer(why);
    });
  }

  /**
   * Sends a request at most once, with the first good key. 401 and 403 are answers; `isGood` tells what they mean. An
   * answer counts even if the key has changed owners by then.
   * @returns the answer with its key; undefined if `claim` declined
   * @throws errors of `Api.once`; before anything is sent: KeyRefused, AccountMoved
   */
  once(request: OnceRequest): Promise<(RawAnswer & { readonly keyHash: string }) | undefined> {
    return this.#withKey(request, async ({ keyHash, api }, mayStart) => {
      let isWithheld = false;
      const claim = async (): Promise<boolean> => {
        isWithheld = !mayStart();
        return !isWithheld && ((await request.claim?.()) ?? true);
      };
      const answer = await api.once({ ...request, claim });
      if (isWithheld) throw new Withheld('not sent: it is withheld for now');
      return answer === undefined ? undefined : { ...answer, keyHash };
    });
  }

  /** Called right before anything of an answer is written. @throws AccountMoved */
  assertOwn(): void {
    if (this.#moved !== undefined) throw this.#moved;
  }

  /**
   * Proves that all answers before this call belong to the account, by a ping of each key after the key's last answer.
   * Answers of earlier processes may be of any key.
   * @returns false if a key that answered, or every key, is refused now
   * @throws AccountMoved; what pings throw
   */
  async proveAll(waiting: Waiting): Promise<boolean> {
    let isProven = true;
    for (const key of this.keys.filter((each) => !this.#refused.has(each))) {
      const isOwed = this.#proofs.owesProof(key.keyHash);
      try {
        await this.#prove(key, this.#proofs.lastAnswer(key.keyHash), waiting);
      } catch (error) {
        if (!refusesKey(error)) throw error;
        if (isOwed) isProven = false;
      }
    }
    this.assertOwn();
    // Including later claims from answers that were proven before they were committed.
    await this.#storeConfirmed();
    return isProven && this.keys.some((each) => !this.#refused.has(each));
  }

  /** As `proveAll`. @returns why there is no proof now, if so @throws KeyRefused, LeaseLost; the signal's reason */
  async whyNotProven(signal: AbortSignal): Promise<Error | undefined> {
    try {
      if (await this.proveAll({ signal })) return undefined;
      return new RequestRefused('an API key was refused before it was proven whose data it read', 401);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ClassifiedError) || error.remedy === 'stop') throw error;
      return error;
    }
  }

  /** Stores the claim with the next proof. Called after what it rests on is committed. */
  claimComplete(claim: Parameters<Proofs['claim']>[0]): void {
    this.#proofs.claim(claim);
  }

  /** Whether what was read since then (the database's time) may be called complete. */
  trusts(began: Date): boolean {
    return this.#proofs.trusts(began);
  }

  /** There are claims for the next proof. */
  get hasClaims(): boolean {
    return this.#proofs.hasClaims;
  }

  /** Pings with the key; if it is refused, it is no longer used. @throws if the ping has no answer */
  async isGood(keyHash: string, waiting: Waiting): Promise<boolean> {
    const key = this.keys.find((each) => each.keyHash === keyHash);
    if (key === undefined) return false;
    try {
      await this.#prove(key, this.#proofs.event(), waiting);
      return true;
    } catch (error) {
      if (refusesKey(error)) return false;
      throw error;
    }
  }

  /** Pings with one key after another until one is good; refused ones, too. @throws KeyRefused if none is good */
  async ping(waiting: Waiting): Promise<void> {
    for (const { keyHash } of this.keys) if (await this.isGood(keyHash, waiting)) return;
    throw this.#lastRefusal();
  }

  /** Requests of the group that the budget allows in 60 s, as far as known; at least 1. */
  sizeOf(group: RateGroup): number {
    const sizes = this.keys.flatMap(({ budget }) =>
      budget.snapshot().groups.flatMap((each) => (each.group === group ? [each.size] : [])),
    );
    return Math.max(1, ...sizes);
  }

  /** Requests wait for a slot: the rate limit is the bottleneck, not latency. */
  isCrowded(): boolean {
    return this.keys.some(({ budget }) => budget.snapshot().groups.some(({ waiting }) => waiting > 0));
  }

  /** Freed slots to store with the next page; `putBack` if its transaction fails. */
  takeFreed() {
    return this.keys.flatMap((key) => key.budget.takeFreed() ?? []);
  }

  putBack(freed: ReturnType<AccountSource['takeFreed']>): void {
    for (const each of freed) this.keys.find((key) => key.keyHash === each.keyHash)?.budget.putBack(each);
  }

  /**
   * Sends a request with the first good key, once it is proven to be the account's.
   * @param send must call `mayStart` when it has its slot, for which it may have waited long
   * @throws AccountMoved; KeyRefused if no key is left; what `send` and pings throw
   */
  async #withKey<T>(
    request: Waiting & Pick<ObjectRequest, 'mayStart'>,
    send: (key: AccountKey, mayStart: () => boolean) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const key = this.keys.find((each) => !this.#refused.has(each));
      if (key === undefined) throw this.#lastRefusal();
      const isCovered = (): boolean =>
        this.#moved === undefined && this.#proofs.covers(key.keyHash, this.#clock.monotonic());
      try {
        await this.#prove(key, this.#proofs.event(), request, isCovered);
        const answer = await send(key, () => isCovered() && (request.mayStart?.() ?? true));
        this.#proofs.answered(key.keyHash);
        return answer;
      } catch (error) {
        if (error instanceof Withheld) continue;
        // A refusal, such as for a missing row, is an answer.
        if (error instanceof RequestRefused) this.#proofs.answered(key.keyHash);
        if (!refusesKey(error)) throw error;
        // 401 and 403 may concern only this endpoint (a plan without it): a ping tells.
        if (!this.#refused.has(key) && (await this.isGood(key.keyHash, request))) {
          throw new RequestRefused(error.message, error.status);
        }
      }
    }
  }

  #lastRefusal(): KeyRefused {
    return [...this.#refused.values()].at(-1) ?? new KeyRefused('the account has no API key', 401);
  }

  /**
   * Waits for a good ping of the key sent after the event `since`. The first caller that needs it sends it. A failed
   * ping fails all that waited for it, unless its sender was stopped.
   * @param isEnough ends the wait; default: there is such a ping
   * @throws AccountMoved; KeyRefused; what pings throw; the signal's reason
   */
  async #prove(
    key: AccountKey,
    since: number,
    { signal, stop }: Waiting,
    isEnough = () => this.#proofs.isProvenSince(key.keyHash, since),
  ): Promise<void> {
    const over = stop === undefined ? signal : AbortSignal.any([signal, stop]);
    let failure: unknown;
    for (;;) {
      this.assertOwn();
      over.throwIfAborted();
      if (isEnough()) return;
      if (failure !== undefined) throw failure;
      const underWay = this.#pings.get(key);
      if (underWay === undefined) await this.#ping(key, { signal, ...(stop && { stop }) }, over);
      else failure = await orAborted(underWay, over);
    }
  }

  /** Sends a ping, which others may wait for, and stores its result. @throws as `prove` */
  async #ping(key: AccountKey, waiting: Waiting, over: AbortSignal): Promise<void> {
    const ended = Promise.withResolvers<unknown>();
    this.#pings.set(key, ended.promise);
    let failure: unknown;
    try {
      const sending = this.#sending();
      const owner = await askKeyOwner(key.api, { ...waiting, mayStart: sending.mayStart });
      await this.#ownerNamed(key, owner, sending);
    } catch (error) {
      if (!over.aborted) failure = error;
      if (!refusesKey(error)) throw error;
      this.#refused.set(key, error);
      if (this.#proofs.refused(key.keyHash, this.#clock.now())) await this.#store.distrust();
      throw error;
    } finally {
      this.#pings.delete(key);
      ended.resolve(failure);
    }
  }

  /** Notes the sending of a request that may be a proof; the last attempt counts. */
  #sending(mayStart = (): boolean => true) {
    const sending = {
      event: this.#proofs.event(),
      at: this.#clock.monotonic(),
      mayStart: (): boolean => {
        [sending.event, sending.at] = [this.#proofs.event(), this.#clock.monotonic()];
        return mayStart();
      },
    };
    return sending;
  }

  /** Handles the owner that the service named for the key. @throws AccountMoved if it is another account */
  async #ownerNamed(key: AccountKey, owner: string, sent: { event: number; at: number }): Promise<void> {
    const { keyHash } = key;
    const { event, at } = sent;
    this.assertOwn();
    if (owner !== this.#userId) {
      const why = `API key ${keyHash.slice(0, 8)}… belongs to account ${owner}, not ${this.#userId}`;
      // Set before anything is stored, so that no current page is written.
      this.#moved = new AccountMoved(why);
      this.#proofs.forgetClaims();
      this.#moved = new AccountMoved(await this.#store.contradicted(keyHash, owner));
      throw this.#moved;
    }
    this.#refused.delete(key);
    this.#proofs.proven(keyHash, event, at);
    await this.#store.proven(keyHash, () => this.#clock.monotonic() - at);
    await this.#storeConfirmed();
  }

  async #storeConfirmed(): Promise<void> {
    const complete = this.#proofs.confirmed();
    if (complete.length > 0) await this.#store.complete(complete);
    this.#proofs.stored(complete);
  }
}
