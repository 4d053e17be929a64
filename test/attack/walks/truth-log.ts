import type { SandboxCollection } from '../../../src/sandbox/world/user-data.ts';

/** A scope of the source: a collection, or one list's items. */
export interface SourceScope {
  readonly collection: SandboxCollection | 'list_items';
  /** ID of the list, '' for a collection. */
  readonly list: string;
}

interface Turn {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly present: boolean;
}

/**
 * When each row was in the source, written down beside the source itself: the mirror's deletions are judged by it.
 * Moments are milliseconds of this machine's clock, by which the source, the requests and the database go.
 */
export class TruthLog {
  readonly #turns = new Map<string, Turn[]>();
  /** When a row changed its place in the list's order. */
  readonly #moves = new Map<string, number[]>();

  /** The row came or went. */
  turn(scope: SourceScope, id: string, at: number, present: boolean): void {
    pushTo(this.#turns, rowName(scope, id), { at, present });
  }

  move(scope: SourceScope, id: string, at: number): void {
    pushTo(this.#moves, rowName(scope, id), at);
  }

  /** True where the row was missing at some moment from `from` to `to`. An item of a list is there while both are. */
  absentWithin(scope: SourceScope, id: string, from: number, to: number): boolean {
    if (this.#absent(rowName(scope, id), from, to)) return true;
    return (
      scope.collection === 'list_items' &&
      this.#absent(rowName({ collection: 'lists', list: '' }, scope.list), from, to)
    );
  }

  /** How often the row changed its presence or its place from `from` to `to`. */
  changesWithin(scope: SourceScope, id: string, from: number, to: number): number {
    const name = rowName(scope, id);
    const moments = [...(this.#turns.get(name) ?? []).map(({ at }) => at), ...(this.#moves.get(name) ?? [])];
    return moments.filter((at) => from <= at && at <= to).length;
  }

  #absent(name: string, from: number, to: number): boolean {
    // A row that nobody wrote down never was there.
    let absent = true;
    for (const { at, present } of this.#turns.get(name) ?? []) {
      if (at > to) break;
      // Times are whole milliseconds: a change in the same one may have come before or after.
      if (absent && at >= from) return true;
      absent = !present;
    }
    return absent;
  }
}

export function rowName({ collection, list }: SourceScope, id: string): string {
  return `${collection}/${list}/${id}`;
}

function pushTo<T>(map: Map<string, T[]>, name: string, value: T): void {
  const values = map.get(name);
  if (values === undefined) map.set(name, [value]);
  else values.push(value);
}
