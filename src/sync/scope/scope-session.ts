import type { KeptKeys } from '@research-mirror/runtime/kept-keys';
import type { StoredScope } from '../../mirror/scope/scope-store.ts';
import { type KeyType, type ListCollection, type Scope, scopeName } from '../../model/collections.ts';
import { Mutex } from '@research-mirror/runtime/mutex';
import type { Checkpoint } from '../../walk/checkpoint.ts';
import { readMemory, type ScopeMemory } from '../../walk/memory/memory.ts';
import type { AccountStore } from '../reader/account-store.ts';
import type { WholeReading } from './whole-reading.ts';

/**
 * One scope while this process reads it: what is remembered between pages, and the order in which pages count
 * (invariant 4). Polls and full walks of a scope share its session and interleave page by page.
 */
export class ScopeSession {
  readonly scope: Scope;
  /** Changed only by what runs in the write lane, once it is committed; so are the five below. */
  memory: ScopeMemory;
  /** Checkpoint of the full walk under way; undefined: none is. */
  fullWalk: Checkpoint | undefined;
  /** A full walk of the scope was completed at some time. */
  everComplete: boolean;
  /** As of when its new and unfinished rows are mirrored. */
  polledAt: Date | undefined;
  /** When its last walk began that read it. */
  lastReadAt: Date | undefined;
  /** What the full walk under way has seen, where that may prove something. */
  whole: WholeReading | undefined;
  /**
   * Number of the last committed observation, as far as this process knows. What rests on memory is written only
   * where the database has the same number (invariant 4): so a database that went back is recognised.
   */
  committed: number;
  /** While a reading of all pages goes on with an interrupted walk: keys that walks saw since it began. */
  since: KeptKeys | undefined;
  /**
   * Hashes of the items in quarantine that any walk saw since the full walk under way began: at its end all others are
   * gone. In memory only, since an unchanged page writes nothing; undefined for a resumed walk, for none, and where
   * there were too many.
   */
  badItems: Set<string> | undefined;
  #obs: number;
  readonly #readings = new Mutex();
  readonly #requests = new Mutex();
  readonly #writes = new Mutex();

  constructor(stored: StoredScope, keyType: KeyType) {
    this.scope = stored.scope;
    this.memory = readMemory(stored.memory, keyType);
    this.fullWalk = stored.fullWalk as Checkpoint | undefined;
    this.everComplete = stored.fullAt !== undefined;
    this.polledAt = stored.polledAt;
    this.lastReadAt = stored.lastReadAt;
    this.committed = stored.lastObs;
    this.#obs = stored.lastObs;
  }

  /**
   * Sends one request and processes its answer.
   *
   * At most one request of the scope is under way: the next is sent when this one is answered or abandoned
   * (`send` has then thrown, and its answer is never seen). Its processing takes its place in the write lane in
   * the moment of the answer, so pages are written in the order in which they were read, while the next request
   * may already be under way.
   * @param process gets the answer and the request's observation number
   */
  async exchange<A, T>(send: () => Promise<A>, process: (answer: A, obs: number) => Promise<T>): Promise<T> {
    const { processed } = await this.#requests.run(async () => {
      this.#obs += 1;
      const obs = this.#obs;
      const answer = await send();
      const promise = this.#writes.run(() => process(answer, obs));
      // Wrapped, so that the request lane is free while the page is written; the caller hears of a failure below.
      promise.catch(() => {});
      return { processed: promise };
    });
    return processed;
  }

  /** One reading after another, where each may walk over all pages. */
  inTurn<T>(task: () => Promise<T>): Promise<T> {
    return this.#readings.run(task);
  }

  /** Writes something else than a page: no page of the scope is written meanwhile. */
  write<T>(task: () => Promise<T>): Promise<T> {
    return this.#writes.run(task);
  }
}

/**
 * One session for each scope that is being read: its readers share it. When the last of them is done, the session is
 * dropped: ten thousand lists are rows in Postgres, not memory, and after a failure with unknown outcome the next
 * reader begins with what the database has.
 */
export class SessionPool {
  readonly #store: Pick<AccountStore, 'openScope'>;
  readonly #open = new Map<string, { readonly session: Promise<ScopeSession>; users: number }>();

  constructor(store: Pick<AccountStore, 'openScope'>) {
    this.#store = store;
  }

  /** Runs `task` with the scope's session. @throws what the store or `task` throws */
  async use<T>(
    scope: Scope,
    { keyType }: ListCollection,
    task: (session: ScopeSession) => Promise<T>,
  ): Promise<T> {
    const name = scopeName(scope);
    const entry = this.#open.get(name) ?? {
      session: this.#store.openScope(scope).then((stored) => new ScopeSession(stored, keyType)),
      users: 0,
    };
    entry.users += 1;
    this.#open.set(name, entry);
    try {
      return await task(await entry.session);
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#open.delete(name);
    }
  }
}
