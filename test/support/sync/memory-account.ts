import { scratchKeys } from '@research-mirror/runtime/testing/scratch-keys';
import { createBudget } from '../../../src/budget/create-budget.ts';
import { type Api, type ObjectRequest, type PageRequest, Withheld } from '../../../src/api/api.ts';
import type { ObjectAnswer } from '../../../src/api/envelope.ts';
import { NotSent } from '../../../src/budget/not-sent.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { RequestRefused } from '../../../src/model/errors.ts';
import type { Page } from '../../../src/model/page.ts';
import { AccountReader } from '../../../src/sync/account/account-reader.ts';
import { AccountSource } from '../../../src/sync/reader/account-source.ts';
import { observeAll } from '../../../src/sync/reader/observer.ts';
import type { HintStore } from '../../../src/sync/hints/account-hints.ts';
import type { ReadingContext } from '../../../src/sync/reader/reading-context.ts';
import type { WalkAnswer } from '../../../src/walk/walk.ts';
import { MemoryBudgetStore } from '../budget/memory-budget-store.ts';
import { MemoryHints } from './memory-hints.ts';
import { MemoryMirror } from './memory-mirror.ts';
import { memoryOwnership } from './memory-ownership.ts';
import type { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import type { ClientSource } from '../walks/walk-client.ts';

/** A request as the service saw it. Moments are the clock's monotonic milliseconds. */
export interface SentRequest {
  readonly name: CollectionName;
  readonly priority: number;
  readonly cursor: string | undefined;
  readonly limit: number | undefined;
  readonly sentAt: number;
  /** Of the answer's items. */
  readonly keys: readonly string[];
}

const USER = '7';
const LATENCY_MS = 80;
type MemoryLists = Partial<Record<CollectionName, MemoryList>>;

const ROUTES: Readonly<Record<string, CollectionName>> = {
  '/v1/research': 'research_jobs',
  '/v1/research/bulk': 'bulk_research_jobs',
};

/** A list of the service, in memory. */
export interface MemoryList extends ClientSource {
  liveKeys(): string[];
}

/** Items 1 to `size` in falling order, any ID a cursor: cheap at any size. */
export class LargeList implements MemoryList {
  readonly #versions: number[];

  constructor(size: number) {
    this.#versions = Array.from({ length: size }, () => 1);
  }

  get(cursor: string | null, limit: number | null): WalkAnswer {
    const top = cursor === null ? this.#versions.length : Number(cursor) - 1;
    const size = limit ?? 100;
    const keys = Array.from({ length: Math.min(size, top) }, (_, at) => String(top - at));
    return { type: 'page', keys, hasMore: top > size };
  }

  versionOf(key: string): number {
    return this.#versions[Number(key) - 1] ?? 0;
  }

  liveKeys(): string[] {
    return this.#versions.map((_, at) => String(at + 1));
  }

  change(key: string): void {
    this.#versions[Number(key) - 1] = this.versionOf(key) + 1;
  }
}

/**
 * An account whose service and mirror are both in memory, under a virtual clock: everything between them is the real
 * thing, the budget with its limits too. Rows that go stay in its mirror: it is not for tests of deletions.
 */
export class MemoryAccount {
  readonly clock: VirtualClock;
  readonly sent: SentRequest[] = [];
  readonly source: AccountSource;
  readonly reader: AccountReader;
  readonly hintStore: HintStore;
  /** Hints by row, with the moment at which they are due. */
  readonly hints: MemoryHints['byRow'];
  readonly gracePeriodMs = 60_000;
  readonly #lists: MemoryLists;
  readonly #mirror: MemoryMirror;
  readonly #hints: MemoryHints;

  private constructor(
    clock: VirtualClock,
    source: (account: MemoryAccount) => AccountSource,
    lists: MemoryLists,
  ) {
    this.clock = clock;
    this.#lists = lists;
    this.source = source(this);
    this.#mirror = new MemoryMirror(clock);
    this.#hints = new MemoryHints(clock, this.#mirror);
    this.hintStore = this.#hints.store();
    this.hints = this.#hints.byRow;
    const far = (): { nextPollAt: Date; nextFullAt: Date } => ({
      nextPollAt: new Date(clock.now() + 60_000),
      nextFullAt: new Date(clock.now() + 86_400_000),
    });
    this.reader = new AccountReader(this.#reader(), far);
  }

  static async make(clock: VirtualClock, lists: MemoryLists): Promise<MemoryAccount> {
    const store = new MemoryBudgetStore(clock);
    const loaded = await store.load('key');
    const budget = createBudget({ keyHash: 'key', clock, share: 0.8, store, loaded, onEvent: () => {} });
    const source = (account: MemoryAccount): AccountSource => {
      const answer = async <T>(request: ObjectRequest, value: () => Promise<T>): Promise<T> => {
        const { route, priority, stop } = request;
        const signal = stop === undefined ? request.signal : AbortSignal.any([request.signal, stop]);
        const given = await budget
          .run({ group: 'other', route, priority, signal }, async () => {
            if (request.mayStart?.() === false) throw new NotSent(new Withheld());
            request.onExchange?.({
              method: 'GET',
              route,
              status: 200,
              durationMs: 0,
              bytes: 0,
              error: undefined,
            });
            return { status: 200, headers: {}, value: await value(), receivedAt: clock.monotonic() };
          })
          .catch((error: unknown) => {
            throw error instanceof NotSent ? error.cause : error;
          });
        return given.value;
      };
      const page = (request: PageRequest): Promise<Page> => answer(request, () => account.#answer(request));
      // Whose the key is: asked for once a minute, and counted by the budget alone.
      const object = (request: ObjectRequest): Promise<ObjectAnswer> =>
        answer(request, async () => {
          await clock.sleep(LATENCY_MS);
          return { source: `{"user_id":${USER}}`, fields: {} };
        });
      const api = { page, object } as unknown as Api;
      return new AccountSource([{ keyHash: 'key', api, budget }], memoryOwnership(USER, clock));
    };
    return new MemoryAccount(clock, source, lists);
  }

  /** What a receiver stores of an event. */
  hint(collection: CollectionName, key: string, parent = ''): void {
    this.#hints.add({ userId: USER, collection, parent }, key);
  }

  /** Rows that the mirror does not have as the service has them. */
  stale(name: CollectionName): string[] {
    const rows = this.#mirror.rowsOf(name);
    const list = this.#lists[name];
    const keys = list?.liveKeys() ?? [];
    return keys.filter((key) => rows.get(key)?.source !== sourceOf(key, list?.versionOf(key) ?? 0));
  }

  async #answer({ route, cursor, limit, priority }: PageRequest): Promise<Page> {
    const name = ROUTES[route];
    const list = name === undefined ? undefined : this.#lists[name];
    if (name === undefined || list === undefined) throw new Error(`no items at ${route}`);
    const sentAt = this.clock.monotonic();
    await this.clock.sleep(LATENCY_MS / 2);
    const answer = list.get(cursor ?? null, limit ?? null);
    const keys = answer.type === 'page' ? answer.keys.filter((key) => key !== undefined) : [];
    const items = keys.map((key) => ({
      source: sourceOf(key, list.versionOf(key)),
      state: 'finished' as const,
      key,
      problem: undefined,
    }));
    this.sent.push({ name, priority, cursor, limit, sentAt, keys });
    await this.clock.sleep(LATENCY_MS / 2);
    if (answer.type === 'refused') throw new RequestRefused(answer.message, answer.status);
    if (answer.type !== 'page') throw new Error(`a list answered ${answer.type}`);
    return { items, hasMore: answer.hasMore, nextCursor: answer.nextCursor };
  }

  #reader(): ReadingContext {
    return {
      fence: { userId: USER, owner: 'tests', token: '1' },
      source: this.source,
      mirror: this.#mirror.writer(),
      store: this.#mirror.store(),
      observer: observeAll([]),
      onChanged: () => {},
      clock: this.clock,
      keys: scratchKeys,
      gracePeriodMs: this.gracePeriodMs,
    };
  }
}

function sourceOf(key: string, version: number): string {
  return `{"id":${key},"version":${version}}`;
}
