import { decide } from '../../../src/mirror/page-decision.ts';
import { scratchKeys } from '@research-mirror/runtime/testing/scratch-keys';
import { type Api, type ObjectRequest, type PageRequest, Withheld } from '../../../src/service/api.ts';
import { Budget, NotSent } from '../../../src/service/budget.ts';
import type { StoredHint } from '../../../src/mirror/hint-store.ts';
import type { Mirror } from '../../../src/mirror/mirror.ts';
import { countOutcomes, type ItemOutcome, type PageRecord } from '../../../src/mirror/page-record.ts';
import type { CollectionName, Scope } from '../../../src/model/collections.ts';
import { RequestRefused } from '../../../src/model/errors.ts';
import type { Page } from '../../../src/model/page.ts';
import { AccountReader } from '../../../src/sync/account-reader.ts';
import { type HintStore, judgeHint } from '../../../src/sync/hints.ts';
import { AccountSource } from '../../../src/sync/account-source.ts';
import { observeAll, type ReadingContext } from '../../../src/sync/reading-context.ts';
import type { WalkAnswer } from '../../../src/walk/walk.ts';
import { MemoryBudgetStore } from '../budget/memory-budget-store.ts';
import { storedOwnership } from './memory-ownership.ts';
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
/** How long a page takes to be written. */
const WRITE_MS = 4;

const ROUTES: Readonly<Record<string, CollectionName>> = {
  '/v1/research': 'research_jobs',
  '/v1/research/bulk': 'bulk_research_jobs',
};

/** A list of the service, in memory. */
interface MemoryList extends ClientSource {
  liveKeys(): string[];
}
type MemoryLists = Partial<Record<CollectionName, MemoryList>>;

/** A row as the mirror holds it. */
interface MemoryRow {
  readonly source: string;
  readonly changedAt: Date;
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
  /** By row, with the moment at which they are due. */
  readonly hints = new Map<string, StoredHint & { readonly scope: Scope; dueAt: number }>();
  readonly gracePeriodMs = 60_000;
  readonly #lists: MemoryLists;
  readonly #rows = new Map<CollectionName, Map<string, MemoryRow>>();
  readonly #scopes = new Map<CollectionName, Record<string, unknown>>();

  private constructor(clock: VirtualClock, budget: Budget, lists: MemoryLists) {
    this.clock = clock;
    this.#lists = lists;
    const key = { keyHash: 'key', api: this.#api(budget), budget };
    this.source = new AccountSource(USER, [key], storedOwnership(), clock);
    this.hintStore = this.#hintStore();
    const mirror: Pick<Mirror, 'applyPage' | 'endWalk'> = {
      applyPage: (_, write) => this.#write(write),
      endWalk: () => Promise.resolve(),
    };
    const context: ReadingContext = {
      fence: { userId: USER, owner: 'tests', token: '1' },
      source: this.source,
      mirror: mirror as Mirror,
      store: this.#scopeStore(),
      observer: observeAll([]),
      onChanged: () => {},
      clock,
      keys: scratchKeys,
      gracePeriodMs: this.gracePeriodMs,
    };
    this.reader = new AccountReader(context, () => ({
      nextPollAt: new Date(clock.now() + 60_000),
      nextFullAt: new Date(clock.now() + 86_400_000),
    }));
  }

  static async make(clock: VirtualClock, lists: MemoryLists): Promise<MemoryAccount> {
    const store = new MemoryBudgetStore(clock);
    const loaded = await store.load('key');
    const budget = new Budget({ keyHash: 'key', clock, share: 0.8, store, loaded, onEvent: () => {} });
    return new MemoryAccount(clock, budget, lists);
  }

  /** What a receiver stores of an event. */
  hint(collection: CollectionName, key: string, parent = ''): void {
    const id = `${collection}/${parent}/${key}`;
    const known = this.hints.get(id);
    const seq = String(Number(known?.seq ?? 0) + 1);
    const now = this.clock.now();
    const dueAt = Math.min(known?.dueAt ?? now, now);
    const scope = { userId: USER, collection, parent };
    this.hints.set(id, { scope, key, seq, step: 0, hintedAt: new Date(now), dueAt });
  }

  /** Rows that the mirror does not have as the service has them. */
  stale(name: CollectionName): string[] {
    const rows = this.#rowsOf(name);
    const list = this.#lists[name];
    const keys = list?.liveKeys() ?? [];
    return keys.filter((key) => rows.get(key)?.source !== sourceOf(key, list?.versionOf(key) ?? 0));
  }

  #rowsOf(name: CollectionName): Map<string, MemoryRow> {
    const rows = this.#rows.get(name) ?? new Map<string, MemoryRow>();
    this.#rows.set(name, rows);
    return rows;
  }

  #api(budget: Budget): Api {
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
          return { status: 200, headers: {}, value: await value(), receivedAt: this.clock.monotonic() };
        })
        .catch((error: unknown) => {
          throw error instanceof NotSent ? error.cause : error;
        });
      return given.value;
    };
    const api: Pick<Api, 'page' | 'object'> = {
      page: (request) => answer(request, () => this.#page(request)),
      // Whose the key is: asked for once a minute, and counted by the budget alone.
      object: (request) =>
        answer(request, async () => {
          await this.clock.sleep(LATENCY_MS);
          return { source: `{"user_id":${USER}}`, fields: {} };
        }),
    };
    return api as Api;
  }

  async #page({ route, cursor, limit, priority }: PageRequest): Promise<Page> {
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

  async #write(write: PageRecord): ReturnType<Mirror['applyPage']> {
    await this.clock.sleep(WRITE_MS);
    const name = write.scope.collection;
    const rows = this.#rowsOf(name);
    const at = new Date(this.clock.now());
    const items = write.page?.items ?? [];
    const outcomes = items.map(({ key = '', source }): ItemOutcome => {
      const known = rows.get(key);
      if (known?.source === source) return 'unchanged';
      rows.set(key, { source, changedAt: at });
      return known === undefined ? 'inserted' : 'updated';
    });
    const counts = countOutcomes(outcomes);
    const sentAt = new Date(at.getTime() - (this.clock.monotonic() - write.sentAfter));
    const hashes = items.map(({ source }) => source);
    const observed = { outcomes, counts, at, sentAt, hashes, missing: [], suspects: [], quarantined: [] };
    if (write.page !== undefined) write.whole?.note(write.page, hashes, () => false);
    const decided = decide(write, observed, this.gracePeriodMs);
    const { memory, fullWalk, fullAt, polledAt } = decided.scope;
    this.#scopes.set(name, {
      ...this.#scopes.get(name),
      lastObs: write.obs,
      ...(memory === undefined ? {} : { memory: JSON.parse(JSON.stringify(memory)) as unknown }),
      ...(fullWalk === undefined ? {} : { fullWalk: fullWalk ?? undefined }),
      ...(fullAt === undefined ? {} : { fullAt }),
      ...(polledAt === undefined ? {} : { polledAt }),
    });
    return { ...observed, state: 'applied', decided, changed: undefined };
  }

  /** What walks ask of stored rows and scopes. */
  #scopeStore(): ReadingContext['store'] {
    const none = async (): Promise<[]> => [];
    const done = async (): Promise<void> => {};
    const byKey = ({ collection }: Scope): number[] =>
      [...this.#rowsOf(collection).keys()].map(Number).sort((a, b) => b - a);
    const keyOrNull = (key: number | undefined): string | null => (key === undefined ? null : String(key));
    return {
      openScope: async (scope: Scope) => ({
        scope,
        memory: {},
        lastObs: 0,
        liveRows: 0,
        ...this.#scopes.get(scope.collection),
      }),
      dueScopes: none,
      predecessor: async (scope: Scope, direction: string, of: string, nth: number) => {
        const all = direction === 'falling' ? byKey(scope).toReversed() : byKey(scope);
        const before = all.filter((id) => (direction === 'falling' ? id > Number(of) : id < Number(of)));
        return keyOrNull(before[nth - 1] ?? before.at(-1));
      },
      nthNewest: async (scope: Scope, nth: number) => keyOrNull(byKey(scope)[nth - 1]),
      liveRows: async ({ collection }: Scope) => this.#rowsOf(collection).size,
      unfinishedRows: none,
      saveCollection: done,
      suspectsOf: none,
      suspectScopes: none,
      liveKeysMissing: none,
      recount: done,
      now: async () => new Date(this.clock.now()),
      recordFreed: done,
    } as unknown as ReadingContext['store'];
  }

  #hintStore(): HintStore {
    const { hints, clock } = this;
    const dueFirst = () => [...hints.values()].sort((a, b) => a.dueAt - b.dueAt);
    return {
      next: async (among, except) => {
        const first = dueFirst().find(
          ({ scope }) => among.includes(scope.collection) && !except.some((each) => isSame(each, scope)),
        );
        if (first === undefined) return undefined;
        const { scope } = first;
        const due = dueFirst().filter((each) => isSame(each.scope, scope) && each.dueAt <= clock.now());
        return { scope, inMs: Math.max(0, first.dueAt - clock.now()), hints: due };
      },
      live: async ({ collection }, keys) => {
        const rows = this.#rowsOf(collection);
        return new Set(keys.filter((key) => rows.has(key)));
      },
      size: async ({ collection }) => this.#rowsOf(collection).size,
      settle: async (scope, read) => {
        const now = new Date(clock.now());
        const rows = this.#rowsOf(scope.collection);
        const moments = [...rows.values()].map(({ changedAt }) => changedAt);
        const newest = moments.sort((a, b) => b.getTime() - a.getTime())[0];
        for (const hint of read) {
          const { key, seq, step } = hint;
          const id = `${scope.collection}/${scope.parent}/${key}`;
          const stored = hints.get(id);
          if (stored?.seq !== seq) continue;
          const dueAt = judgeHint(hint, key === '' ? newest : rows.get(key)?.changedAt, now);
          if (dueAt === null) hints.delete(id);
          else hints.set(id, { ...stored, step: step + 1, dueAt: dueAt.getTime() });
        }
      },
    };
  }
}

function isSame(a: Scope, b: Scope): boolean {
  return a.collection === b.collection && a.parent === b.parent;
}

function sourceOf(key: string, version: number): string {
  return `{"id":${key},"version":${version}}`;
}
