import type { ScopeMemory } from './memory.ts';
import type { AbsenceProof } from '../model/absence.ts';
import type { PagePlace } from '../model/page.ts';
import type { Reading } from './reading.ts';

/**
 * A walk is a pure state machine (docs/design/walks.md, "The walks"): it names a request, takes the answer, and names
 * the next request.
 *
 *     let { walk, memory, ask } = beginFull(memory, { liveRows, now });
 *     while (ask.type !== 'end') {
 *       const answer = …ask the service or Postgres…
 *       ({ walk, memory, ask } = step(walk, memory, answer, now));
 *       // write the page; memory = noteWritten(memory, rows); commit memory and checkpoint(walk) with it
 *     }
 *
 * Every page may be written, even one that brings the walk no further. The next page may be fetched meanwhile, but
 * `step` takes it only once this one is committed: memory and checkpoint must not run ahead of the rows. If a commit
 * fails, both return to the last committed ones. A poll and a full walk of one scope share its memory and may
 * interleave answer by answer. Only full walks have a checkpoint; the rest of an interrupted poll is in the memory.
 */
export type Walk = PollWalk | RefreshWalk | FullWalk | ConfirmWalk;

/** Reads from the newest rows down to the frontier and the overlap (falling), or from there to the end (rising). */
export interface PollWalk extends Reading {
  readonly kind: 'poll';
  /**
   * - `look`: one page, which may be the whole scope: there is no usable order or no frontier
   * - `open`: the rest of an interrupted poll
   * - `top`: from the top down (falling)
   * - `tail`: from before the overlap to the end (rising)
   */
  readonly part: 'look' | 'open' | 'top' | 'tail';
  /** Falling: greatest key at which the part may stop. Rising: the poll begins before it. Null: reads all. */
  readonly low: string | null;
  /** Key of the 200th known live row from the newest at the start; null if there are fewer. */
  readonly overlapKey: string | null;
}

/** Reads the fewest pages that cover given keys. */
export interface RefreshWalk extends Reading {
  readonly kind: 'refresh';
  /** Keys still to be covered, in list order. */
  readonly todo: readonly string[];
}

/** Rereads suspected rows: the top first, which tests the order, then the fewest pages that cover them. */
export interface ConfirmWalk extends Reading {
  readonly kind: 'confirm';
  /** All keys that it has to cover. */
  readonly keys: readonly string[];
  /** Keys still to be covered, in list order once the order is usable. */
  readonly todo: readonly string[];
}

/** Reads all pages. JSON, stored as a `Checkpoint`. */
export interface FullWalk extends Reading {
  readonly kind: 'full';
  /** Continued from a checkpoint, so no proof in an unordered list (docs/design/deletions.md, "P2"). */
  readonly resumed: boolean;
  /** Live rows of the scope at the start. */
  readonly liveRows: number;
}

export type Ask =
  /**
   * GET with `starting_after` = cursor and `limit`, each left out if null. `large`: no smaller page can be requested,
   * so this one may have as many bytes as a single item.
   */
  | {
      readonly type: 'page';
      readonly cursor: string | null;
      readonly limit: number | null;
      readonly large?: true;
    }
  /**
   * Look up the `nth` stored live key before `of` in list order (1: the nearest; the first of all if there are fewer);
   * null if none precedes it. `direction` is the list's: in a falling list, before means greater.
   */
  | {
      readonly type: 'predecessor';
      readonly of: string;
      readonly nth: number;
      readonly direction: 'falling' | 'rising';
    }
  | End;

export interface End {
  readonly type: 'end';
  /**
   * - `complete`: every item of the scope was read (by a full walk, or in one answer that is the whole scope)
   * - `reached`: the poll reached the old frontier, or the refresh covered its keys
   * - `full-needed`: the order does not allow this walk; a full walk has to do its work
   * - `failed`: given up; `reason` names the page. What was read stays
   */
  readonly outcome: 'complete' | 'reached' | 'full-needed' | 'failed';
  readonly reason?: string;
  /** Status with which the service refused the scope itself, without a cursor: 404 for a list that is gone. */
  readonly status?: number;
}

export type WalkAnswer =
  | {
      readonly type: 'page';
      /** Keys of the items in the page's order; undefined for an item without a usable key. */
      readonly keys: readonly (string | undefined)[];
      /** As answered; undefined where missing. */
      readonly hasMore: boolean | undefined;
      /** The server's own cursor; null: it offers none; undefined: the field is missing. */
      readonly nextCursor?: string | null | undefined;
      /** Age in a cache on the way, ms; left out: the service answered. */
      readonly ageMs?: number;
    }
  /** A 4xx other than 401, 403, 408, 425 and 429. The caller repeats those and 5xx, or stops. */
  | { readonly type: 'refused'; readonly status: number; readonly message: string }
  /** More than may be buffered: the walk requests fewer items. */
  | { readonly type: 'too-large' }
  | { readonly type: 'predecessor'; readonly key: string | null };

export interface Step<W extends Walk = Walk> {
  readonly walk: W;
  readonly memory: ScopeMemory;
  readonly ask: Ask;
  /** What the last page shows; left out: the answer was no page. */
  readonly page?: TakenPage;
}

/** `raises`: the only rows that the proof may suspect; left out: any. */
export type PageProof = AbsenceProof & { readonly raises?: readonly string[] };

export interface TakenPage {
  /** What it proves absent; null: nothing. */
  readonly proof: PageProof | null;
  /** It contradicts the order, so what depends on it is withdrawn. */
  readonly contradiction: boolean;
  readonly place: PagePlace;
}
