import type { ScopeMemory } from './memory.ts';
import type { AbsenceProof } from '../model/absence.ts';
import type { PagePlace } from '../model/page.ts';
import type { Reading } from './reading.ts';

/**
 * A walk is a pure state machine (docs/design/walks.md, "The walks"): it says what to ask, gets the answer, and says
 * what to ask next.
 *
 *     let { walk, memory, ask } = beginFull(memory, { liveRows, now });
 *     while (ask.type !== 'end') {
 *       const answer = …ask the service or Postgres…
 *       ({ walk, memory, ask } = step(walk, memory, answer, now));
 *       // write the page; memory = noteWritten(memory, rows); commit memory and checkpoint(walk) with it
 *     }
 *
 * Every page may be written, also one that brings the walk no further. The next page may be fetched meanwhile, but
 * `step` takes it only when this one is committed: memory and checkpoint must not run ahead of the rows. When a
 * commit fails, both go back to the last committed ones. A poll and a full walk of one scope share its memory and may
 * interleave answer by answer. Only full walks have a checkpoint: the rest of an interrupted poll is in the memory.
 */
export type Walk = PollWalk | RefreshWalk | FullWalk | ConfirmWalk;

/** Reads from the newest rows down to the frontier and the overlap (falling), or from there to the end (rising). */
export interface PollWalk extends Reading {
  readonly kind: 'poll';
  /**
   * - `look`: one page, which may be the whole scope: there is no usable order, or no frontier
   * - `open`: the rest of an interrupted poll
   * - `top`: from the top down (falling)
   * - `tail`: from before the overlap to the end (rising)
   */
  readonly part: 'look' | 'open' | 'top' | 'tail';
  /** Falling: greatest key at which the part may stop. Rising: the poll begins before it. Null: it reads all. */
  readonly low: string | null;
  /** Key of the 200th known live row from the newest, when the poll began; null where there are fewer. */
  readonly overlapKey: string | null;
}

/** Reads the fewest pages that cover given keys. */
export interface RefreshWalk extends Reading {
  readonly kind: 'refresh';
  /** Keys still to be covered, in list order. */
  readonly todo: readonly string[];
}

/** Reads suspected rows again: first the top, which tests the order, then the fewest pages that cover them. */
export interface ConfirmWalk extends Reading {
  readonly kind: 'confirm';
  /** All keys that it was sent for. */
  readonly keys: readonly string[];
  /** Keys still to be covered, in list order once that is known to be usable. */
  readonly todo: readonly string[];
}

/** Reads all pages. JSON, stored as a `Checkpoint`. */
export interface FullWalk extends Reading {
  readonly kind: 'full';
  /** It was continued from a checkpoint: so it is no proof in an unordered list (docs/design/deletions.md, "P2"). */
  readonly resumed: boolean;
  /** Live rows of the scope when it began. */
  readonly liveRows: number;
}

export type Ask =
  /**
   * GET with `starting_after` = cursor and `limit`, each left out where null. `large`: fewer items can't be asked
   * for, so the page may have as many bytes as a single item.
   */
  | {
      readonly type: 'page';
      readonly cursor: string | null;
      readonly limit: number | null;
      readonly large?: true;
    }
  /**
   * Look up the `nth` stored live key before `of` in list order (1: the nearest; the first of all where there are
   * fewer); null where none precedes it. `direction` is the list's: before means greater where it is falling.
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
   * - `complete`: every item of the scope was read (a full walk, or one answer that is the whole scope)
   * - `reached`: the poll reached the old frontier, the refresh covered its keys
   * - `full-needed`: the order does not allow this walk; only a full walk can do its work
   * - `failed`: given up; `reason` names the page. What was read stays
   */
  readonly outcome: 'complete' | 'reached' | 'full-needed' | 'failed';
  readonly reason?: string;
  /** Status by which the service refused the scope itself, without a cursor: 404 for a list that is gone. */
  readonly status?: number;
}

export type WalkAnswer =
  | {
      readonly type: 'page';
      /** Keys of the items in the page's order; undefined for an item without a usable one. */
      readonly keys: readonly (string | undefined)[];
      /** As answered; undefined where missing. */
      readonly hasMore: boolean | undefined;
      /** The server's own cursor; null: it says that it offers none; undefined: the field is missing. */
      readonly nextCursor?: string | null | undefined;
      /** Its age in an intermediate cache, milliseconds; left out: it came from the service. */
      readonly ageMs?: number;
    }
  /** A 4xx other than 401, 403, 408, 425 and 429. The caller repeats those and 5xx, or stops. */
  | { readonly type: 'refused'; readonly status: number; readonly message: string }
  /** More than may be buffered: the walk asks for fewer items. */
  | { readonly type: 'too-large' }
  | { readonly type: 'predecessor'; readonly key: string | null };

export interface Step<W extends Walk = Walk> {
  readonly walk: W;
  readonly memory: ScopeMemory;
  readonly ask: Ask;
  /** What the page just taken says; left out: the answer was no page. */
  readonly page?: TakenPage;
}

/** `raises`: the only rows that the proof may bring under suspicion; left out: any. */
export type PageProof = AbsenceProof & { readonly raises?: readonly string[] };

export interface TakenPage {
  /** What it proves absent; null: nothing. */
  readonly proof: PageProof | null;
  /** It contradicts the order: what depends on that is withdrawn. */
  readonly contradiction: boolean;
  readonly place: PagePlace;
}
