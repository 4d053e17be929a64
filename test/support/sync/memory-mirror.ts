import type { Mirror } from '../../../src/mirror/mirror.ts';
import type { ItemOutcome, PageWrite } from '../../../src/mirror/page-write.ts';
import { countOutcomes } from '../../../src/mirror/rows/classify.ts';
import type { CollectionName, Scope } from '../../../src/model/collections.ts';
import { NO_ALARMS } from '../../../src/plan/alarms.ts';
import { NOTHING_LEARNT } from '../../../src/plan/learnt-changes.ts';
import type { Clock } from '@research-mirror/runtime/clock';
import type { RowState } from '../../../src/sync/hints/judge-hints.ts';
import type { ReadingContext } from '../../../src/sync/reader/reading-context.ts';

/** A row as the mirror holds it. */
export interface MemoryRow extends RowState {
  readonly source: string;
}

/** How long a page takes to be written. */
const WRITE_MS = 4;

/**
 * One account's mirror in memory, as walks write and read it. Rows that go stay: it is not for tests of deletions.
 */
export class MemoryMirror {
  readonly #clock: Clock;
  readonly #rows = new Map<CollectionName, Map<string, MemoryRow>>();
  readonly #scopes = new Map<CollectionName, Record<string, unknown>>();
  #changeId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** By key. */
  rowsOf(name: CollectionName): Map<string, MemoryRow> {
    const rows = this.#rows.get(name) ?? new Map<string, MemoryRow>();
    this.#rows.set(name, rows);
    return rows;
  }

  /** What writes pages. */
  writer(): Mirror {
    const mirror: Pick<Mirror, 'applyPage' | 'endWalk'> = {
      applyPage: (_, write) => this.#apply(write),
      endWalk: () => Promise.resolve(),
    };
    return mirror as Mirror;
  }

  /** What walks ask of stored rows and scopes. */
  store(): ReadingContext['store'] {
    const rowsOf = (scope: Scope): Map<string, MemoryRow> => this.rowsOf(scope.collection);
    const byKey = (scope: Scope): number[] => [...rowsOf(scope).keys()].map(Number).sort((a, b) => b - a);
    return {
      openScope: (scope: Scope) =>
        Promise.resolve({
          scope,
          memory: {},
          lastObs: 0,
          learnt: NOTHING_LEARNT,
          alarms: NO_ALARMS,
          ...this.#scopes.get(scope.collection),
        }),
      dueScopes: () => Promise.resolve([]),
      needOfScopes: () => Promise.resolve({ count: 0, requests: 0, need: 0 }),
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
      unfinishedRows: () => Promise.resolve([]),
      saveCollection: () => Promise.resolve(),
      suspectsOf: () => Promise.resolve([]),
      suspectScopes: () => Promise.resolve([]),
      liveKeysMissing: () => Promise.resolve([]),
      recount: () => Promise.resolve(),
      now: () => Promise.resolve(new Date(this.#clock.now())),
      recordFreed: () => Promise.resolve(),
    } as unknown as ReadingContext['store'];
  }

  async #apply(write: PageWrite): ReturnType<Mirror['applyPage']> {
    await this.#clock.sleep(WRITE_MS);
    const name = write.scope.collection;
    const rows = this.rowsOf(name);
    const at = new Date(this.#clock.now());
    const outcomes = write.items.map(({ key = '', source }): ItemOutcome => {
      const known = rows.get(key);
      if (known?.source === source) return 'unchanged';
      this.#changeId += 1;
      rows.set(key, { source, changeId: String(this.#changeId), changedAt: at, live: true });
      return known === undefined ? 'inserted' : 'updated';
    });
    const counts = countOutcomes(outcomes);
    const sentAt = new Date(at.getTime() - (this.#clock.monotonic() - write.sentAfter));
    const hashes = write.items.map(({ source }) => source);
    const observed = { outcomes, counts, at, sentAt, hashes, missing: [], suspects: [], quarantined: [] };
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
    return { state: 'applied', outcomes, counts, decision, changed: undefined, refused: [] };
  }
}
