import type { KeptKeys } from '@research-mirror/runtime/kept-keys';
import { Mutex } from '@research-mirror/runtime/mutex';
import type { StoredScope } from '../mirror/scope-store.ts';
import { type KeyType, type ListCollection, type Scope, scopeName } from '../model/collections.ts';
import type { Checkpoint } from '../walk/checkpoint.ts';
import { readMemory, type ScopeMemory } from '../walk/memory.ts';
import type { WholeReading } from '../walk/whole-walk.ts';
import type { ReadingContext } from './reading-context.ts';

/** Most hashes of items in quarantine kept for one walk: about 100 bytes each. */
const MOST_BAD_ITEMS = 100_000;

/**
 * One scope while this process reads it: its state between pages, and the order in which pages count (invariant 4).
 * Polls and full walks of a scope share its session and interleave page by page.
 */
export class ScopeSession {
  readonly scope: Scope;
  // `memory` to `committed` are changed only in the write lane, after a commit.
  memory: ScopeMemory;
  /** Checkpoint of the running full walk; undefined: none is running. */
  fullWalk: Checkpoint | undefined;
  /** A full walk of the scope has been completed. */
  everComplete: boolean;
  /** Its new and unfinished rows are mirrored as of then. */
  polledAt: Date | undefined;
  /** Start of its last successful walk. */
  lastReadAt: Date | undefined;
  /** Last committed observation. The database must have the same number (invariant 4): else it went back. */
  committed: number;
  /** The rows that the running full walk has seen, if that may prove something. */
  whole: WholeReading | undefined;
  /** Keys that walks have seen since a reading of all pages resumed an interrupted walk. */
  since: KeptKeys | undefined;
  /**
   * Hashes of the items in quarantine that any walk has seen since the running full walk began: at its end all others
   * are gone. Undefined for a resumed walk, for none, and if there were too many.
   */
  badItems: ReadonlySet<string> | undefined;
  #obs: number;
  /** Serialises readings that may walk over all pages. */
  readonly readings = new Mutex();
  /** The write lane: pages, and all other writes that rest on the session. */
  readonly writes = new Mutex();
  readonly #requests = new Mutex();

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
   * Sends one request and processes its answer. At most one request of the scope is in flight: the next is sent after
   * this one is answered or abandoned (`send` has then thrown, and its answer is never used). The answer enters the
   * write lane when it arrives, so pages are written in the order in which they were read, while the next request may
   * already be in flight.
   * @param process gets the answer and the request's observation number
   */
  async exchange<A, T>(send: () => Promise<A>, process: (answer: A, obs: number) => Promise<T>): Promise<T> {
    const { processed } = await this.#requests.run(async () => {
      this.#obs += 1;
      const obs = this.#obs;
      const answer = await send();
      const promise = this.writes.run(() => process(answer, obs));
      // Wrapped, so that the request lane is free during the write; the caller gets a failure below.
      promise.catch(() => {});
      return { processed: promise };
    });
    return processed;
  }

  /** Adds the items in quarantine of a committed page. */
  sawBad(hashes: readonly string[]): void {
    if (this.badItems === undefined || hashes.length === 0) return;
    const all = this.badItems.union(new Set(hashes));
    this.badItems = all.size > MOST_BAD_ITEMS ? undefined : all;
  }
}

/**
 * Sessions of the scopes that are being read; readers of a scope share its session. It is dropped after the last
 * reader: ten thousand lists stay out of memory, and after a failure the next reader begins with the stored state.
 */
export class SessionPool {
  readonly #context: Pick<ReadingContext, 'store' | 'fence'>;
  readonly #open = new Map<string, { readonly session: Promise<ScopeSession>; users: number }>();

  constructor(context: Pick<ReadingContext, 'store' | 'fence'>) {
    this.#context = context;
  }

  /** Runs `task` with the session of the collection's scope. @throws what the store or `task` throws */
  async use<T>(
    { name: collection, keyType }: ListCollection,
    parent: string,
    task: (session: ScopeSession) => Promise<T>,
  ): Promise<T> {
    const { store, fence } = this.#context;
    const scope: Scope = { userId: fence.userId, collection, parent };
    const name = scopeName(scope);
    const entry = this.#open.get(name) ?? {
      session: store.openScope(scope).then((stored) => new ScopeSession(stored, keyType)),
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
