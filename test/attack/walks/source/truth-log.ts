import type { SandboxCollection } from '@research-mirror/sandbox/world/user-data';

/** A scope of the source: a collection, or one list's items. */
export interface SourceScope {
  readonly collection: SandboxCollection | 'list_items';
  /** ID of the list, '' for a collection. */
  readonly list: string;
}

interface Life {
  readonly row: { readonly scope: SourceScope; readonly id: string };
  /** When it came and went: milliseconds since the epoch. */
  readonly turns: { readonly at: number; readonly present: boolean }[];
  /** When it changed its place in the list's order. */
  readonly moves: number[];
}

const LISTS: SourceScope = { collection: 'lists', list: '' };

/**
 * When each row was in the source, written down beside the source itself: the mirror's deletions are judged by it.
 * Moments are milliseconds of this machine's clock, by which the source, the requests and the database go. An item of
 * a list is there while both are.
 */
export class TruthLog {
  readonly #lives = new Map<string, Life>();

  /** The row came or went. */
  turn(scope: SourceScope, id: string, at: number, present: boolean): void {
    this.#life(scope, id).turns.push({ at, present });
  }

  move(scope: SourceScope, id: string, at: number): void {
    this.#life(scope, id).moves.push(at);
  }

  /** Every row that ever was there. */
  rows(): Life['row'][] {
    return [...this.#lives.values()].map(({ row }) => row);
  }

  /** True where the row was missing at some moment from `from` to `to`. */
  absentWithin(scope: SourceScope, id: string, from: number, to: number): boolean {
    return (
      this.#was(false, scope, id, from, to) ||
      (scope.collection === 'list_items' && this.#was(false, LISTS, scope.list, from, to))
    );
  }

  /** False where the row was certainly missing at every moment from `from` to `to`. */
  presentWithin(scope: SourceScope, id: string, from: number, to: number): boolean {
    return (
      this.#was(true, scope, id, from, to) &&
      (scope.collection !== 'list_items' || this.#was(true, LISTS, scope.list, from, to))
    );
  }

  /** How often the row changed its presence or its place from `from` to `to`. */
  changesWithin(scope: SourceScope, id: string, from: number, to: number): number {
    const { turns, moves } = this.#life(scope, id);
    return [...turns.map(({ at }) => at), ...moves].filter((at) => from <= at && at <= to).length;
  }

  /** Whether the row itself was ever there (`present`), or not there, from `from` to `to`. */
  #was(present: boolean, scope: SourceScope, id: string, from: number, to: number): boolean {
    // A row that is not in the log was never there.
    let now = false;
    for (const turn of this.#lives.get(rowName(scope, id))?.turns ?? []) {
      if (turn.at > to) break;
      // Times are whole milliseconds: what happened in the same one may have come before or after.
      if (now === present && turn.at >= from) return true;
      now = turn.present;
    }
    return now === present;
  }

  #life(scope: SourceScope, id: string): Life {
    const name = rowName(scope, id);
    const life = this.#lives.get(name) ?? { row: { scope, id }, turns: [], moves: [] };
    this.#lives.set(name, life);
    return life;
  }
}

export function rowName({ collection, list }: SourceScope, id: string): string {
  return `${collection}/${list}/${id}`;
}
