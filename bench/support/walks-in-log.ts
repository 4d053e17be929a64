import type { RequestRecord } from '@research-mirror/sandbox/request-log';

/** Where a scope's items stand: from their cursor IDs to their places, from 0. */
export type Places = ReadonlyMap<string, number>;

interface SeenWalk {
  /** Places below this one were asked for. */
  reached: number;
}

/**
 * Finds full walks in a service's log, and the requests that ask again for what their walk had asked for before. A
 * walk is over when it has asked for the last item: a request from the top is the next walk then, and before that
 * a repetition.
 */
export class WalksInLog {
  readonly #walks = new Map<string, SeenWalk>();
  readonly #begun = new Map<string, number>();
  readonly #placesOf: (scope: string) => Places;
  readonly #pageSize: number;

  /**
   * @param placesOf the items of a scope (`/v1/research`); they must stay as they are while walks are under way
   * @param pageSize items in a page that was not answered
   */
  constructor(placesOf: (scope: string) => Places, pageSize: number) {
    this.#placesOf = placesOf;
    this.#pageSize = pageSize;
  }

  /**
   * Takes the requests of one life of the program, in which each scope is walked once; what it asks for after the
   * walk's end is a poll.
   * @returns how many of the requests were repetitions, by scope
   */
  take(requests: readonly RequestRecord[]): ReadonlyMap<string, number> {
    const repeated = new Map<string, number>();
    const over = new Set<string>();
    for (const { path, items } of requests) {
      const { pathname: scope, searchParams } = new URL(path, 'http://service');
      if (over.has(scope)) continue;
      const places = this.#placesOf(scope);
      const cursor = searchParams.get('starting_after');
      const from = cursor === null ? 0 : (places.get(cursor) ?? -1) + 1;
      let walk = this.#walks.get(scope);
      if (walk === undefined || (cursor === null && walk.reached >= places.size)) {
        walk = { reached: 0 };
        this.#walks.set(scope, walk);
        this.#begun.set(scope, this.begun(scope) + 1);
      }
      if (from < walk.reached) repeated.set(scope, (repeated.get(scope) ?? 0) + 1);
      walk.reached = Math.max(walk.reached, from + (items ?? this.#pageSize));
      if (walk.reached >= places.size) over.add(scope);
    }
    return repeated;
  }

  /** Walks of the scope that were begun so far. */
  begun(scope: string): number {
    return this.#begun.get(scope) ?? 0;
  }
}
