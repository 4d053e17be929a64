import { createBudget } from '../../src/budget/create-budget.ts';
import type { PageRequest } from '../../src/api/api.ts';
import type { StoredHint } from '../../src/db/hint-store.ts';
import type { Mirror } from '../../src/mirror/mirror.ts';
import type { ItemOutcome, PageWrite } from '../../src/mirror/page-write.ts';
import type { CollectionName, Scope } from '../../src/model/collections.ts';
import { RequestRefused } from '../../src/model/errors.ts';
import type { Page } from '../../src/model/page.ts';
import { AccountReader } from '../../src/sync/account-reader.ts';
import { AccountSource } from '../../src/sync/account-source.ts';
import { observeAll } from '../../src/sync/observer.ts';
import type { HintStore } from '../../src/sync/hints/hint-store.ts';
import type { RowState } from '../../src/sync/hints/judge-hints.ts';
import type { Reader } from '../../src/sync/reader.ts';
import type { Answer } from '../../src/walk/walk.ts';
import { MemoryBudgetStore } from './memory-budget-store.ts';
import type { VirtualClock } from './virtual-clock.ts';
import type { ClientSource } from './walk-client.ts';

/** A request as the service saw it. Moments are the clock's monotonic milliseconds. */
export interface SentRequest {
  readonly name: CollectionName;
  readonly priority: number;
  readonly cursor: string | undefined;
  readonly sentAt: number;
  /** Of the answer's items. */
  readonly keys: readonly string[];
}

interface MemoryRow extends RowState {
  readonly source: string;
}

const USER = '7';
const LATENCY_MS = 80;
const WRITE_MS = 4;
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

  get(cursor: string | null, limit: number | null): Answer {
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
  readonly hints = new Map<string, StoredHint & { readonly scope: Scope; dueAt: number }>();
  readonly settleMs = 60_000;
  readonly #lists: MemoryLists;
  readonly #rows = new Map<CollectionName, Map<string, MemoryRow>>();
  readonly #scopes = new Map<CollectionName, Record<string, unknown>>();
  #changeId = 0;

  private constructor(
    clock: VirtualClock,
    source: (account: MemoryAccount) => AccountSource,
    lists: MemoryLists,
  ) {
    this.clock = clock;
    this.#lists = lists;
    this.source = source(this);
    this.hintStore = this.#hintStore();
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
      const page = async (request: PageRequest): Promise<Page> => {
        const { route, priority, stop } = request;
        const signal = stop === undefined ? request.signal : AbortSignal.any([request.signal, stop]);
        const answer = await budget.run({ group: 'other', route, priority, signal }, async () => {
          request.onExchange?.({
            method: 'GET',
            route,
            status: 200,
            durationMs: 0,
            bytes: 0,
            error: undefined,
          });
          const value = await account.#answer(request);
          return { status: 200, headers: {}, receivedAt: clock.monotonic(), value };
        });
        return answer.value;
      };
      return new AccountSource([{ keyHash: 'key', api: { page } as never, budget }]);
    };
    return new MemoryAccount(clock, source, lists);
  }

  /** What a receiver stores of an event. */
  hint(collection: CollectionName, key: string, parent = ''): void {
    const id = `${collection}/${parent}/${key}`;
    const seq = String(Number(this.hints.get(id)?.seq ?? 0) + 1);
    const scope: Scope = { userId: USER, collection, parent };
    const now = this.clock.now();
    const dueAt = Math.min(this.hints.get(id)?.dueAt ?? now, now);
    this.hints.set(id, { scope, key, seq, step: 0, hintedAt: new Date(now), dueAt });
  }

  /** Rows that the mirror does not have as the service has them. */
  stale(name: CollectionName): string[] {
    const rows = this.#rows.get(name);
    const list = this.#lists[name];
    const keys = list?.liveKeys() ?? [];
    return keys.filter((key) => rows?.get(key)?.source !== sourceOf(key, list?.versionOf(key) ?? 0));
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
      fields: {},
      key,
      problem: undefined,
    }));
    this.sent.push({ name, priority, cursor, sentAt, keys });
    await this.clock.sleep(LATENCY_MS / 2);
    if (answer.type === 'refused') throw new RequestRefused(answer.message, answer.status);
    if (answer.type !== 'page') throw new Error(`a list answered ${answer.type}`);
    return { items, hasMore: answer.hasMore, nextCursor: answer.nextCursor };
  }

  #reader(): Reader {
    const { clock } = this;
    const mirror: Pick<Mirror, 'applyPage' | 'endWalk'> = {
      applyPage: (_, write) => this.#apply(write),
      endWalk: () => Promise.resolve(),
    };
    const rowsOf = (scope: Scope): Map<string, MemoryRow> => this.#rowsOf(scope.collection);
    const byKey = (scope: Scope): number[] => [...rowsOf(scope).keys()].map(Number).sort((a, b) => b - a);
    const store = {
      openScope: (scope: Scope) =>
        Promise.resolve({
          scope,
          memory: {},
          lastObs: 0,
          liveRows: 0,
          ...this.#scopes.get(scope.collection),
        }),
      dueScopes: () => Promise.resolve([]),
      predecessor: (scope: Scope, direction: string, of: string, nth: number) => {
        const all = direction === 'falling' ? byKey(scope).toReversed() : byKey(scope);
        const before = all.filter((id) => (direction === 'falling' ? id > Number(of) : id < Number(of)));
        const found = before[nth - 1] ?? before.at(-1);
        return Promise.resolve(found === undefined ? null : String(found));
      },
      nthNewest: (scope: Scope, nth: number) => {
        const found = byKey(scope)[nth - 1];
        return Promise.resolve(found === undefined ? null : String(found));
      },
      liveRows: (scope: Scope) => Promise.resolve(rowsOf(scope).size),
      unsettledRows: () => Promise.resolve([]),
      saveCollection: () => Promise.resolve(),
      candidatesOf: () => Promise.resolve([]),
      scopesInDoubt: () => Promise.resolve([]),
      liveKeysMissing: () => Promise.resolve([]),
      now: () => Promise.resolve(new Date(clock.now())),
      recordFreed: () => Promise.resolve(),
    };
    return {
      fence: { userId: USER, owner: 'tests', token: '1' },
      source: this.source,
      mirror: mirror as Mirror,
      store: store as unknown as Reader['store'],
      observer: observeAll([]),
      onChanged: () => {},
      clock,
      settleMs: this.settleMs,
    };
  }

  async #apply(write: PageWrite): ReturnType<Mirror['applyPage']> {
    await this.clock.sleep(WRITE_MS);
    const name = write.scope.collection;
    const rows = this.#rowsOf(name);
    const at = new Date(this.clock.now());
    const outcomes = write.items.map(({ key = '', source }): ItemOutcome => {
      const known = rows.get(key);
      if (known?.source === source) return 'unchanged';
      this.#changeId += 1;
      rows.set(key, { source, changeId: String(this.#changeId), changedAt: at, live: true });
      return known === undefined ? 'inserted' : 'updated';
    });
    const count = (which: ItemOutcome): number => outcomes.filter((each) => each === which).length;
    const counts = {
      inserted: count('inserted'),
      updated: count('updated'),
      undeleted: 0,
      unchanged: count('unchanged'),
      deferred: 0,
      duplicate: 0,
      quarantined: 0,
      conflicts: 0,
    };
    const sentAt = new Date(at.getTime() - write.sentAgo());
    const hashes = write.items.map(({ source }) => source);
    const observed = { outcomes, counts, at, sentAt, hashes, missing: [], candidates: [] };
    const decision = write.decide(observed);
    const { memory, fullWalk, fullAt, polledAt } = decision.scope;
    const before = this.#scopes.get(name) ?? {};
    this.#scopes.set(name, {
      ...before,
      lastObs: write.obs,
      ...(memory === undefined ? {} : { memory: JSON.parse(JSON.stringify(memory)) as unknown }),
      ...(fullWalk === undefined ? {} : { fullWalk: fullWalk ?? undefined }),
      ...(fullAt === undefined ? {} : { fullAt }),
      ...(polledAt === undefined ? {} : { polledAt }),
    });
    return { state: 'applied', outcomes, counts, at, decision, changed: undefined };
  }

  #rowsOf(name: CollectionName): Map<string, MemoryRow> {
    const rows = this.#rows.get(name) ?? new Map<string, MemoryRow>();
    this.#rows.set(name, rows);
    return rows;
  }

  #hintStore(): HintStore {
    const { clock, hints } = this;
    const dueFirst = () => [...hints.values()].sort((a, b) => a.dueAt - b.dueAt);
    return {
      next: async (among, except) => {
        const first = dueFirst().find(
          ({ scope }) => among.includes(scope.collection) && !except.some((each) => isSame(each, scope)),
        );
        return first === undefined
          ? undefined
          : { scope: first.scope, inMs: Math.max(0, first.dueAt - clock.now()) };
      },
      due: async (scope) =>
        dueFirst().filter((each) => isSame(each.scope, scope) && each.dueAt <= clock.now()),
      rows: async (scope, keys) => {
        const rows = this.#rowsOf(scope.collection);
        return new Map(keys.flatMap((key) => [rows.get(key)].flatMap((row) => (row ? [[key, row]] : []))));
      },
      lastChange: async (scope) =>
        [...this.#rowsOf(scope.collection).values()]
          .map(({ changedAt }) => changedAt)
          .sort((a, b) => b.getTime() - a.getTime())[0],
      size: async (scope) => this.#rowsOf(scope.collection).size,
      isThere: async () => true,
      forgetOthers: async (mirrored) => {
        for (const [id, { scope }] of hints) if (!mirrored.includes(scope.collection)) hints.delete(id);
      },
      settle: async (scope, judge) => {
        const { done, again } = judge(new Date(clock.now()));
        const id = ({ key }: StoredHint): string => `${scope.collection}/${scope.parent}/${key}`;
        for (const hint of done) if (hints.get(id(hint))?.seq === hint.seq) hints.delete(id(hint));
        for (const { hint, dueAt } of again) {
          const stored = hints.get(id(hint));
          if (stored?.seq !== hint.seq) continue;
          hints.set(id(hint), { ...stored, step: stored.step + 1, dueAt: dueAt.getTime() });
        }
      },
    };
  }
}

function sourceOf(key: string, version: number): string {
  return `{"id":${key},"version":${version}}`;
}

function isSame(a: Scope, b: Scope): boolean {
  return a.collection === b.collection && a.parent === b.parent;
}
