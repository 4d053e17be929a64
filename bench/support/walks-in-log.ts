import type { RequestRecord } from '../../src/sandbox/traffic.ts';

/** A walk of one scope, as the service sees it: its pages, by their addresses. */
interface SeenWalk {
  readonly pages: Set<string>;
  /** Items answered, each page counted once. */
  items: number;
}

/**
 * Finds full walks in a service's log, and the pages that one asked for again. A walk is over when its pages held as
 * many items as its scope has: what comes then from the top is the next walk, and anything else a repetition.
 */
export class WalksInLog {
  readonly #walks = new Map<string, SeenWalk>();
  readonly #sizeOf: (scope: string) => number;
  readonly #begun = new Map<string, number>();

  /** @param sizeOf how many items a scope (`/v1/research`) has; it must not change while walks are under way */
  constructor(sizeOf: (scope: string) => number) {
    this.#sizeOf = sizeOf;
  }

  /** @returns how many pages were asked for again, by scope: those of which some were */
  take(requests: readonly RequestRecord[]): ReadonlyMap<string, number> {
    const repeated = new Map<string, number>();
    for (const { path, status, items } of requests) {
      const { pathname: scope, searchParams } = new URL(path, 'http://service');
      const size = this.#sizeOf(scope);
      let walk = this.#walks.get(scope);
      if (!searchParams.has('starting_after') && (walk === undefined || walk.items >= size)) {
        walk = { pages: new Set(), items: 0 };
        this.#walks.set(scope, walk);
        this.#begun.set(scope, this.begun(scope) + 1);
      }
      if (walk?.pages.has(path) === true) repeated.set(scope, (repeated.get(scope) ?? 0) + 1);
      else if (status === 200 && walk !== undefined) {
        walk.pages.add(path);
        walk.items += items ?? 0;
      }
    }
    return repeated;
  }

  /** Walks of the scope that were begun so far. */
  begun(scope: string): number {
    return this.#begun.get(scope) ?? 0;
  }
}
