import { ageOf } from '../../model/page.ts';
import { type Api, type ObjectRequest, Withheld } from '../../api/api.ts';
import type { ObjectAnswer } from '../../api/envelope.ts';
import { PRIORITY } from '../../budget/priorities.ts';
import type { CompleteScope } from '../../mirror/scope/complete-as-of.ts';
import { AccountMoved, type KeyRefused, MalformedAnswer, refusesKey } from '../../model/errors.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import { ownerOf, pingedOwner } from './owner-of.ts';
import { ProofTracker } from './proof-tracker.ts';
import { SharedPings } from './shared-pings.ts';
import { scopeName } from '../../model/collections.ts';

/** Claims that the proof under way may confirm. */
interface TakenClaims {
  readonly claims: readonly CompleteScope[];
  /** The proof failed: the claims wait for the next one, unless later claims of their scopes took their place. */
  readonly putBack: () => void;
}

/**
 * What readings found complete, provided that they read the account's own data: the next proof confirms it. Kept in
 * memory alone: the next process reads again what this one leaves open.
 */
class CompleteClaims {
  #open = new Map<string, CompleteScope>();
  /** Claims taken before `forget` are not put back. */
  #generation = 0;

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  add(claim: CompleteScope): void {
    this.#open.set(scopeName(claim.scope), claim);
  }

  /** Takes all claims; later ones wait for a later proof. */
  take(): TakenClaims {
    const taken = this.#open;
    const generation = this.#generation;
    this.#open = new Map();
    return {
      claims: [...taken.values()],
      putBack: () => {
        if (generation === this.#generation) this.#open = new Map([...taken, ...this.#open]);
      },
    };
  }

  /** No proof will follow. */
  forget(): void {
    this.#generation += 1;
    this.#open.clear();
  }
}

/** What was stored of an account before the request of a proof was sent. */
export interface ProofMark {
  /** Its change_id, decimal digits. */
  readonly changeId: string;
  /** By the database's clock. */
  readonly at: Date;
}

/** Stores whose the keys are. */
export interface OwnershipStore {
  /** Call it before the request of a proof. @throws AccountMoved where the account is another service's */
  mark(): Promise<ProofMark>;
  /**
   * The key is the account's.
   * @param complete what that confirms: every key's answers before the request have a later proof now
   */
  proven(keyHash: string, mark: ProofMark, complete: readonly CompleteScope[]): Promise<void>;
  /** The key answered for `owner`: stops the account. @returns the reason, with the remedy */
  contradicted(keyHash: string, owner: string): Promise<string>;
  /** Forgets conclusions from answers that will never be proven. */
  distrust(): Promise<void>;
}

/** A key whose owner can be asked for. */
export interface OwnedKey {
  readonly keyHash: string;
  readonly api: Api;
}

/** A ping refused the key, so the request was not sent. An endpoint's own refusal is a `KeyRefused`. */
export class PingRefused extends Error {
  readonly refusal: KeyRefused;

  constructor(refusal: KeyRefused) {
    super(refusal.message, { cause: refusal });
    this.refusal = refusal;
  }
}

export interface OwnershipOptions {
  readonly userId: string;
  readonly store: OwnershipStore;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** An object and its owner; undefined where it names none, or came from a cache. */
interface Asked {
  readonly answer: ObjectAnswer;
  readonly owner: string | undefined;
}

type Waiting = Pick<ObjectRequest, 'signal' | 'stop'>;

export const PING = { path: '/v1/ping', route: '/v1/ping', priority: PRIORITY.POLL } as const;

/** So many pings in a row may be answered by a cache; then it is an error. */
const PING_TRIES = 3;
const PING_WAS_CACHED =
  'GET /v1/ping was answered by a cache on the way (Age above 0), which can’t tell whose key this is now: let it pass';

/**
 * Makes sure that an account's keys answer with the account's own data (docs/design/ownership.md, "Whose data"). A
 * proof costs a ping, at most once a minute while the key is used, and nothing where the account itself is read.
 * Requests that need one at the same time share it. The first contradiction stops the account.
 */
export class Ownership {
  readonly #userId: string;
  readonly #store: OwnershipStore;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #tracker = new ProofTracker();
  readonly #claims = new CompleteClaims();
  readonly #pings = new SharedPings<OwnedKey>((key, stop) => this.#ping(key, stop));
  /** Keys that were used. */
  readonly #used = new Map<string, OwnedKey>();
  #moved: AccountMoved | undefined;

  constructor({ userId, store, clock }: OwnershipOptions) {
    this.#userId = userId;
    this.#store = store;
    this.#clock = clock;
  }

  /** Call it right before anything is written of an answer. @throws AccountMoved */
  assertOwn(): void {
    if (this.#moved !== undefined) throw this.#moved;
  }

  /** Has it stored with the next proof. Call it when what it rests on is committed. */
  claimComplete(claim: CompleteScope): void {
    this.#claims.add(claim);
  }

  get hasClaims(): boolean {
    return !this.#claims.isEmpty;
  }

  /**
   * Sends a request whose answer rests on a fresh proof; where there is none, it asks for one first.
   * @param send must call `mayStart` when it has its slot: it may have waited long. That calls the request's own, too
   * @throws PingRefused, AccountMoved; what `send` throws, and pings otherwise
   */
  async asOwner<T>(
    key: OwnedKey,
    request: Waiting & Pick<ObjectRequest, 'mayStart'>,
    send: (mayStart: () => boolean) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      this.assertOwn();
      if (!this.#isCovered(key)) await this.#proveFirst(key, request);
      try {
        const answer = await send(() => this.#isCovered(key) && (request.mayStart?.() ?? true));
        this.#answered(key);
        return answer;
      } catch (error) {
        if (!(error instanceof Withheld)) throw error;
      }
    }
  }

  /** Reads an object that may name its owner itself: that is its proof. @throws as `asOwner` */
  async readOwned(key: OwnedKey, request: ObjectRequest): Promise<ObjectAnswer> {
    this.assertOwn();
    const { answer, owner } = await this.#ask(key, request);
    if (owner !== undefined) return answer;
    const own = await this.asOwner(key, request, (mayStart) => key.api.object({ ...request, mayStart }));
    const named = ownerOf(own);
    if (named === undefined || named === this.#userId) return own;
    throw new MalformedAnswer(`GET ${request.path} was answered with account ${named}, not ${this.#userId}`);
  }

  /**
   * Asks whose the key is, by a ping that is shared.
   * @throws AccountMoved; KeyRefused; what pings throw
   */
  prove(key: OwnedKey, waiting: Waiting): Promise<void> {
    return this.#pings.current(key, waiting);
  }

  /**
   * Proves everything that was answered before this call, by requests that are sent after it.
   * @returns false where a key that was used is refused now: its answers will never be proven
   * @throws AccountMoved; what pings throw
   */
  async proveAll(waiting: Waiting): Promise<boolean> {
    let proven = true;
    for (const key of this.#used.values()) {
      this.assertOwn();
      try {
        await this.#pings.next(key, waiting);
      } catch (error) {
        if (!refusesKey(error)) throw error;
        proven = false;
      }
    }
    this.assertOwn();
    return proven;
  }

  /** @throws PingRefused, AccountMoved; what pings throw otherwise */
  async #proveFirst(key: OwnedKey, waiting: Waiting): Promise<void> {
    try {
      await this.prove(key, waiting);
    } catch (error) {
      throw refusesKey(error) ? new PingRefused(error) : error;
    }
  }

  #isCovered({ keyHash }: OwnedKey): boolean {
    return this.#tracker.covers(keyHash, this.#clock.monotonic());
  }

  #answered(key: OwnedKey): void {
    this.#used.set(key.keyHash, key);
    this.#tracker.answered(key.keyHash);
  }

  async #ping(key: OwnedKey, stop: AbortSignal): Promise<void> {
    this.assertOwn();
    try {
      const request = { ...PING, signal: new AbortController().signal, stop };
      for (let left = PING_TRIES; ; left -= 1) {
        const { answer, owner } = await this.#ask(key, request);
        pingedOwner(answer);
        if (owner !== undefined) return;
        if (left === 1) throw new MalformedAnswer(PING_WAS_CACHED);
      }
    } catch (error) {
      if (!refusesKey(error)) throw error;
      if (this.#tracker.hasUnproven(key.keyHash)) {
        this.#claims.forget();
        await this.#store.distrust();
      }
      this.#tracker.writeOff(key.keyHash);
      this.#used.delete(key.keyHash);
      throw error;
    }
  }

  /** Reads an object; where it names the owner, it is a proof. */
  async #ask(key: OwnedKey, request: ObjectRequest): Promise<Asked> {
    const { keyHash } = key;
    const mark = await this.#store.mark();
    const noteProven = this.#tracker.proving(keyHash);
    const { claims, putBack } = this.#claims.take();
    let stored = false;
    let began = 0;
    try {
      const answer = await key.api.object({
        ...request,
        mayStart: () => {
          began = this.#clock.monotonic();
          return request.mayStart?.() ?? true;
        },
      });
      this.assertOwn();
      const owner = ageOf(answer) > 0 ? undefined : ownerOf(answer);
      if (owner === undefined) return { answer, owner };
      if (owner !== this.#userId) throw await this.#contradiction(keyHash, owner);
      noteProven(began);
      const isAll = [...this.#used.keys()].every(
        (each) => each === keyHash || !this.#tracker.hasUnproven(each),
      );
      await this.#store.proven(keyHash, mark, isAll ? claims : []);
      stored = isAll;
      this.assertOwn();
      return { answer, owner };
    } finally {
      if (!stored) putBack();
    }
  }

  async #contradiction(keyHash: string, owner: string): Promise<AccountMoved> {
    const inShort = `API key ${keyHash.slice(0, 8)}… answers for account ${owner}, not ${this.#userId}`;
    // Before anything is stored, so that no page under way is written.
    this.#moved = new AccountMoved(inShort);
    this.#claims.forget();
    this.#moved = new AccountMoved(await this.#store.contradicted(keyHash, owner));
    return this.#moved;
  }
}
